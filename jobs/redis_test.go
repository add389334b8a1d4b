package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// TestScheduler_redis runs three nodes on a real server, kills it in the middle, and starts it again with its data.
func TestScheduler_redis(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	var mu sync.Mutex
	byTick := make(map[time.Time][]Run)
	ran := make(chan Run, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 3 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Node: fmt.Sprint("n", i), Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(locks, Config{Logger: quiet(), OnRun: func(r Run) {
			mu.Lock()
			byTick[r.Tick] = append(byTick[r.Tick], r)
			mu.Unlock()
			if r.Outcome == OutcomeOK {
				ran <- r
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(Job{Name: "j", Spec: "@every 1s", Grace: time.Hour, Lock: lockrt.Options{TTL: 5 * time.Second}, Overlap: OverlapQueue, Run: func(ctx context.Context) error {
			return lockrt.AssertHeld(ctx, "job:j")
		}}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
			if err := locks.Close(context.Background()); err != nil {
				t.Error(err)
			}
			client.Close()
		})
	}
	for range 3 {
		<-ran
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-ran
	}
	cancel()
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	var first, last time.Time
	for tick, runs := range byTick {
		if len(runs) != 1 || runs[0].Outcome != OutcomeOK {
			t.Errorf("tick %s: %+v, want one run that is ok", tick, runs)
		}
		if first.IsZero() || tick.Before(first) {
			first = tick
		}
		if tick.After(last) {
			last = tick
		}
	}
	for tick := first; tick.Before(last); tick = tick.Add(time.Second) {
		if byTick[tick] == nil {
			t.Errorf("tick %s did not run", tick)
		}
	}
}

// TestRedisStore_expiry checks that a job that nobody adds any more is forgotten some day, and one that is in use not.
func TestRedisStore_expiry(t *testing.T) {
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	s := &storeTester{t: t, Store: NewRedisStore(client, "lock")}
	c := s.nextClaim("j", "a")
	c.Skipped = &Run{ID: "s", Job: "j", Outcome: OutcomeSkipped}
	s.claim(c, ClaimWon)
	keys, err := client.Keys(context.Background(), "*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("keys %v, %v; want the job and its runs", keys, err)
	}
	for _, key := range keys {
		if err := client.PExpire(context.Background(), key, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.look("j")
	for _, key := range keys {
		if ttl := client.PTTL(context.Background(), key).Val(); ttl < retention-time.Hour {
			t.Errorf("%s expires in %s, want about %s after a look", key, ttl, retention)
		}
	}
}

// TestRedisStore_slots checks what Redis Cluster hashes: both keys of a job have the same tag, not an empty one, and no
// two jobs or namespaces share a key.
func TestRedisStore_slots(t *testing.T) {
	seen := make(map[string]string)
	for _, namespace := range []string{"", "lock", "{", "{x}", "}", "a:jobs"} {
		s := NewRedisStore(nil, namespace).(*redisStore)
		for _, job := range []string{"", "a", "{", "}", "{}", "}{", "{a}", "a}", "%", "%7B", "a:runs", ":", "a}:runs"} {
			keys := s.keys(job)
			tag := hashTag(keys[0])
			if tag == "" || hashTag(keys[1]) != tag {
				t.Errorf("job %q in namespace %q has keys %q with tags %q and %q", job, namespace, keys, tag, hashTag(keys[1]))
			}
			for _, key := range keys {
				if other, taken := seen[key]; taken {
					t.Errorf("job %q in namespace %q shares key %q with %s", job, namespace, key, other)
				}
				seen[key] = fmt.Sprintf("job %q in namespace %q", job, namespace)
			}
		}
	}
}

// hashTag is the rule of Redis Cluster: what stands between the first { and the next }, if anything does.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
