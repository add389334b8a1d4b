package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
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
