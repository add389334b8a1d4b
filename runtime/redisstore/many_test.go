package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// One process waits for many keys: each stands in its queue, signs of life cost a script for a hundred of them, and
// every release reaches its waiter.
func TestSession_manyKeys(t *testing.T) {
	keys := 5_000
	if os.Getenv("LOCKGEN_SOAK") != "" {
		keys = 100_000
	} else if testing.Short() {
		keys = 1_000
	}
	r := newRig(t)
	holder, _ := r.newSession(Config{})
	s, _ := r.newSession(Config{Liveness: 5 * time.Minute}) // the test says when life is shown
	name := func(i int) string { return fmt.Sprint("key", i) }
	slots := make(chan struct{}, 64)
	each := func(what string, f func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range keys {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := f(i); err != nil {
					t.Errorf("%s %d: %v", what, i, err)
				}
			})
		}
		wg.Wait()
	}
	each("hold", func(i int) error {
		_, err := holder.Acquire(r.ctx, lockrt.Request{Key: name(i), ID: "h", TTL: time.Hour})
		return err
	})
	granted := make(chan error, keys)
	each("wait for", func(i int) error {
		queued := make(chan struct{}, 1)
		go func() {
			_, err := s.Acquire(r.ctx, lockrt.Request{
				Key: name(i), ID: fmt.Sprint("w", i), TTL: time.Hour, Wait: lockrt.Forever,
				Told: func(busy *lockrt.BusyError, err error) { queued <- struct{}{} },
			})
			granted <- err
		}()
		select {
		case <-queued:
			return nil
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	})
	testsync.Eventually(t, "all are in their queues", func() bool { return len(s.waitedFor()) == keys })

	scripts := math.MaxInt // the least of some rounds: a late subscription has the session make one of its own beside
	for range 10 {
		before := r.scriptCalls()
		if err := s.showLife(s.waitedFor()); err != nil {
			t.Fatal(err)
		}
		scripts = min(scripts, r.scriptCalls()-before)
	}
	if want := (keys + aliveChunk - 1) / aliveChunk; scripts > want+want/10+5 {
		t.Errorf("%d scripts showed life in %d queues, want %d", scripts, keys, want)
	}
	each("release", func(i int) error { return holder.Release(r.ctx, lockrt.Release{Key: name(i), ID: "h"}) })
	for range keys {
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.waitedFor()); n != 0 {
		t.Errorf("%d queues are still refreshed", n)
	}
}

// Many give up at once, one stays. They are taken out of the queue in full batches, nobody is forgotten, and the
// one gets the lock with its release.
func TestSession_manyGiveUp(t *testing.T) {
	t.Parallel()
	leaving := 15_000
	if testing.Short() {
		leaving = 3_000
	}
	r := newRig(t)
	s, _ := r.newSession(Config{})
	r.acquire("holder", "p", 0)
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	for i := range leaving {
		wg.Go(func() {
			_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: fmt.Sprint("w", i), TTL: time.Hour, Wait: lockrt.Forever})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("waiter %d: %v", i, err)
			}
		})
	}
	testsync.Eventually(t, "all are in the queue", func() bool {
		return r.client.ZCard(r.ctx, r.keys.queue).Val() == int64(leaving)
	})
	stays := r.wait(s, "stays", time.Hour)
	before := r.scriptCalls()
	cancel()
	wg.Wait()
	testsync.Eventually(t, "they are gone", func() bool { return s.abandonedNow() == 0 })
	// One that was asking when it gave up is taken back once more.
	if n := r.scriptCalls() - before; n > 2*leaving+10 {
		t.Errorf("%d scripts ran for %d who gave up", n, leaving)
	}
	r.wantQueue("stays")
	r.release("holder", 0)
	if a := <-stays; a.err != nil {
		t.Error(a.err)
	}
}
