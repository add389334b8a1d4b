package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func open(t *testing.T, s *Store) *session {
	t.Helper()
	opened, err := s.Open(lockrt.SessionConfig{Namespace: "lock", Lost: func(string, error) {}})
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*session)
}

func take(t *testing.T, s *session, key string, ttl time.Duration) {
	t.Helper()
	if _, err := s.Acquire(t.Context(), lockrt.Request{Key: key, ID: "owner of " + key, TTL: ttl}); err != nil {
		t.Fatal(err)
	}
}

func TestStore_freeKeysCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := New()
		s := open(t, store)
		take(t, s, "released", time.Hour)
		take(t, s, "broken", time.Hour)
		broken, err := s.Inspect(t.Context(), "broken")
		if err != nil {
			t.Fatal(err)
		}
		take(t, s, "kept", time.Hour)
		if err := errors.Join(
			s.Release(t.Context(), lockrt.Release{Key: "released", ID: "owner of released"}),
			s.Break(t.Context(), lockrt.Breaking{Key: "broken", ID: broken.ID, Fence: broken.Fence}),
			s.Release(t.Context(), lockrt.Release{Key: "kept", ID: "owner of kept", Keep: time.Minute}),
		); err != nil {
			t.Fatal(err)
		}
		take(t, s, "left", time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, key := range []string{"kept", "left"} {
			req := lockrt.Request{Key: key, ID: "impatient", TTL: time.Hour, Wait: lockrt.Forever}
			if _, err := s.Acquire(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("acquire of %q: %v, want the context's error", key, err)
			}
		}
		if n := len(store.locks); n != 2 {
			t.Errorf("%d locks are known, want the one that is held and the one that is kept", n)
		}
	})
}

// Locks that nobody has released and nobody waits for are not looked at when they run out. They must not pile up, and
// those that are held or waited for must stay.
func TestStore_expiredKeysAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := New()
		s := open(t, store)
		const held = 3 * minSweep
		for i := range held {
			take(t, s, fmt.Sprint("held ", i), 24*time.Hour)
		}
		for i := range 20 * minSweep {
			take(t, s, fmt.Sprint("left ", i), time.Second)
			if i%minSweep == 0 {
				time.Sleep(time.Second)
			}
			if n := len(store.locks); n > 2*(held+minSweep) {
				t.Fatalf("%d locks are known after %d, of which %d are held", n, i, held)
			}
		}
		if store.sweep < len(store.locks) {
			t.Errorf("with %d locks every new one is followed by a sweep, which was due at %d", len(store.locks), store.sweep)
		}
		if infos, err := s.List(t.Context(), "held "); err != nil || len(infos) != held {
			t.Errorf("%d locks are held (error %v), want %d", len(infos), err, held)
		}
	})
}

// Between the end of a lease and the run of its timer, those who wait are still in line: a sweep leaves them there.
func TestStore_sweepLeavesThoseWhoWait(t *testing.T) {
	store := New()
	s := open(t, store)
	take(t, s, "k", time.Hour)
	store.mu.Lock()
	l := store.locks[name{"lock", "k"}]
	l.queue.push(&waiter{session: s, req: lockrt.Request{Key: "k", ID: "w", TTL: time.Hour}})
	store.sweep = 1
	store.lockOn(name{"lock", "other"}, l.holders[0].expires.Add(time.Second))
	if store.locks[l.name] != l {
		t.Error("the lock of one that waits was dropped")
	}
	store.mu.Unlock()
}

func TestStore_Value(t *testing.T) {
	store, made := New(), 0
	mk := func() any { made++; return made }
	for _, want := range []struct{ key, value any }{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 1}} {
		if got := store.Value(want.key, mk); got != want.value {
			t.Errorf("the value of %v is %v, want %v", want.key, got, want.value)
		}
	}
}
