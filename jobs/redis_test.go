package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	. "github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// TestScheduler_redis runs three nodes on a real server, kills it in the middle, and starts it again with its data.
func TestScheduler_redis(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	var mu sync.Mutex
	byTick := make(map[time.Time][]Run)
	ran := make(chan Run, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 3 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
		locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}),
			lockrt.Config{Node: fmt.Sprint("n", i), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(locks, Config{Logger: slog.New(slog.DiscardHandler), OnRun: func(r Run) {
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
		j := Job{Name: "j", Spec: "@every 1s", Grace: time.Hour, Lock: lockrt.Options{TTL: 5 * time.Second},
			Overlap: OverlapQueue}
		j.Run = func(ctx context.Context) error { return lockrt.AssertHeld(ctx, "job:j") }
		if err := s.Add(j); err != nil {
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

// TestRedisStore_bounded runs a job 10,000 times, with a retry for every tenth and a wish to cancel for every
// hundredth: what is kept of it is the latest records, and no more.
func TestRedisStore_bounded(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := NewRedisStore(client, "lock")
	view, err := s.Register(ctx, Registration{Session: "s", Offers: []Offer{{Definition: Definition{Job: "j"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cursor, keep := view.Jobs[0].Cursor, 50
	const batch = 200
	for first := 0; first < 10_000; first += batch {
		var claims []Claim
		var starts []Start
		var finishes []Finish
		for i := first; i < first+batch; i++ {
			run := func(attempt int) Run {
				return Run{ID: fmt.Sprint("j@o.", i, ".", attempt), Job: "j", Tick: cursor.Add(time.Microsecond),
					Attempt: attempt}
			}
			r := run(1)
			claims = append(claims, Claim{
				Job: "j", Prev: cursor, Tick: r.Tick, Due: view.Now, Lease: time.Minute, Keep: keep, Missed: 1,
				InFlight: &InFlight{Owner: "o", Run: r}, Skipped: &Run{ID: r.ID + "s", Job: "j", Outcome: OutcomeSkipped},
			})
			cursor = r.Tick
			starts = append(starts, Start{Run: r, Owner: "o", Lease: time.Minute})
			f := Finish{Run: r, Owner: "o", Lease: time.Minute, Keep: keep}
			f.Run.Outcome = OutcomeError
			if i%10 == 0 {
				f.Next = &InFlight{Owner: "o", Run: run(2)}
				last := Finish{Run: run(2), Owner: "o", Lease: time.Minute, Keep: keep}
				last.Run.Outcome = OutcomeOK
				finishes = append(finishes, f, last)
				continue
			}
			finishes = append(finishes, f)
		}
		for _, c := range s.Claim(ctx, claims) {
			if c.Err != nil || c.Status != ClaimWon {
				t.Fatal(c)
			}
		}
		if err := errors.Join(s.Start(ctx, starts)...); err != nil {
			t.Fatal(err)
		}
		for i := 5; i < len(starts); i += 100 { // without a retry
			if err := s.Cancel(ctx, Notice{Job: "j", ID: starts[i].Run.ID, At: cursor}); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range s.Finish(ctx, finishes) {
			var cancelled *CancelledError
			if err != nil && !errors.As(err, &cancelled) {
				t.Fatal(err)
			}
		}
	}
	// The cursor, and that it was made up, when it was registered, as what, the epoch, how many ticks it missed, the
	// session's lease, the records, and the failures among them; for lists its name, what a search looks into, when it
	// was recorded last, that it fails and that it missed ticks, and how many all have missed.
	if keys, entries := contents(t, client); keys != 15 || entries != 13+keep+KeptFailures {
		t.Errorf("%d keys with %d entries, want 15 with %d", keys, entries, 13+keep+KeptFailures)
	}
}

// contents counts the keys of a server and what is in them.
func contents(t *testing.T, client *redis.Client) (keys, entries int) {
	t.Helper()
	ctx := context.Background()
	all, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		var n int64
		switch kind := client.Type(ctx, key).Val(); kind {
		case "hash":
			n = client.HLen(ctx, key).Val()
		case "zset":
			n = client.ZCard(ctx, key).Val()
		case "list":
			n = client.LLen(ctx, key).Val()
		default:
			t.Fatalf("key %s is a %s", key, kind)
		}
		entries += int(n)
	}
	return len(all), entries
}

// TestRedisStore_expiry checks that everything about jobs that nobody adds any more is forgotten some day.
func TestRedisStore_expiry(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := NewRedisStore(client, "lock")
	view, err := s.Register(ctx, Registration{Session: "s", Offers: []Offer{{Definition: Definition{Job: "j"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cursor := view.Jobs[0].Cursor
	c := Claim{
		Job: "j", Prev: cursor, Tick: cursor.Add(time.Microsecond), Due: cursor, Lease: time.Minute, Keep: 3, Missed: 1,
		InFlight: &InFlight{Owner: "o1", Run: Run{ID: "j@o1.1", Job: "j"}}, Skipped: &Run{ID: "j@o1.2", Job: "j"},
	}
	if got := s.Claim(ctx, []Claim{c})[0]; got.Status != ClaimWon {
		t.Fatal(got)
	}
	if _, err := s.Pause(ctx, "j", Pause{Author: "ada", At: cursor}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, OneOff{ID: "x", Handler: "h", At: cursor.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if errs := s.Start(ctx, []Start{{Run: c.InFlight.Run, Owner: "o1", Lease: time.Minute}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	if err := s.Cancel(ctx, Notice{Job: "j", ID: "j@o1.1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heartbeat(ctx, Heartbeat{Session: "o1", Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) != 39 {
		t.Fatalf("keys %q, %v; want 39, one for everything that is kept", keys, err)
	}
	for _, key := range keys {
		if ttl := client.PTTL(ctx, key).Val(); ttl <= 0 || ttl > Retention {
			t.Errorf("%s expires in %s, want within %s", key, ttl, Retention)
		}
	}
}

// TestRedisStore_loss tells a flush of all, of one shard, and a restored copy from what a session knows.
func TestRedisStore_loss(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := NewRedisStore(client, "lock")
	stamp := ""
	heartbeat := func(doing string, lost bool) {
		t.Helper()
		p, err := s.Heartbeat(ctx, Heartbeat{Session: "o1", Lease: time.Minute, Stamp: stamp})
		if err != nil || p.Lost != lost {
			t.Fatalf("%s: lost %t, %v; want %t", doing, p.Lost, err, lost)
		}
		stamp = p.Stamp
	}
	heartbeat("first", false)
	heartbeat("second", false)
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after a flush", true)
	heartbeat("after that", false)
	if err := client.Del(ctx, "lock:jobs:{lock:5}:stamp").Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after the loss of a shard", true)
	old := client.Dump(ctx, "lock:jobs:{lock:6}:stamp").Val()
	heartbeat("before the copy is restored", false)
	if err := client.RestoreReplace(ctx, "lock:jobs:{lock:6}:stamp", 0, old).Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after the copy was restored", true)
}

// TestRedisStore_listMany walks through a search, there and back, that has to look at more names of one shard than a
// script does.
func TestRedisStore_listMany(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := NewRedisStore(client, "lock")
	var r Registration
	var all []string // that are searched for
	for i, crowded := 0, 0; crowded < 2500; i++ {
		name := fmt.Sprintf("job-%06d", i)
		if KeyOf(s, name) == KeyOf(s, "job-000000") {
			crowded++
		} else if i%50 > 0 {
			continue
		}
		r.Offers = append(r.Offers, Offer{Definition: Definition{Job: name}})
		if strings.Contains(name, "7") && strings.Contains(name, "3") {
			all = append(all, name)
		}
	}
	if _, err := s.Register(ctx, r); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 7, 300, 5000} {
		for _, back := range []bool{false, true} {
			q := ListQuery{Search: []string{"7", "3"}, Back: back, Limit: limit}
			left := all
			if limit == 1 {
				q.From = map[bool]string{true: all[10], false: all[len(all)-10]}[back]
				left = map[bool][]string{true: all[:10], false: all[len(all)-9:]}[back]
			}
			for more := true; more; {
				page, err := s.List(ctx, q)
				n := min(limit, len(left))
				want, rest := left[:n], left[n:]
				if back {
					rest, want = left[:len(left)-n], left[len(left)-n:]
				}
				left = rest
				if more = page.More; err != nil || !slices.Equal(page.Jobs, want) || more != (len(left) > 0) {
					t.Fatalf("List of %+v = %+v, %v; want %q, and %d others", q, page, err, want, len(left))
				}
				if q.From = want[0]; !back {
					q.From = want[n-1]
				}
			}
		}
	}
}
