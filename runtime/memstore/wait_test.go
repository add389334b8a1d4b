package memstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// The timer that was set for the end of a lease finds that it was renewed, and has to come again.
func TestStore_waiterGetsTheLockAtTheEndOfARenewedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, New())
		began := time.Now()
		take(t, s, "k", time.Second)
		go func() {
			time.Sleep(time.Second / 2)
			renewals := []lockrt.Renewal{{Key: "k", ID: "owner of k", TTL: time.Second}}
			if err := s.Renew(t.Context(), renewals)[0]; err != nil {
				t.Error(err)
			}
		}()
		req := lockrt.Request{Key: "k", ID: "w", TTL: time.Second, Wait: time.Hour}
		if _, err := s.Acquire(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited != 3*time.Second/2 {
			t.Errorf("granted after %s, want at the end of the renewed lease", waited)
		}
	})
}

// Between the end of a lease and the run of its timer nobody comes before those who wait.
func TestStore_noBargingAtTheEndOfALease(t *testing.T) {
	store := New()
	s := open(t, store)
	take(t, s, "k", time.Hour)
	w := &waiter{session: s, req: lockrt.Request{Key: "k", ID: "w", TTL: time.Hour}, granted: make(chan lockrt.Grant, 1)}
	l := store.locks[s.name("k")]
	l.queue.push(w)
	l.holders[0].expires = time.Now()
	barger := lockrt.Request{Key: "k", ID: "barger", TTL: time.Hour}
	if _, err := s.Acquire(t.Context(), barger); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("acquire before one that waits: %v, want ErrBusy", err)
	}
	if len(w.granted) != 1 || l.holders[0].id != "w" {
		t.Errorf("the lock belongs to %q, want the one that waited", l.holders[0].id)
	}
}

// slowContext has ended, and takes its time to say why.
type slowContext struct {
	context.Context
	why func() error
}

func (c slowContext) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return c.why()
}

// A waiter leaves; before it has left it is granted the lock, its lease runs out, and somebody else has the lock.
func TestStore_waiterThatLeavesTouchesNobodyElsesLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, New())
		take(t, s, "k", time.Minute)
		ended, cancel := context.WithCancel(t.Context())
		leaving := slowContext{ended, func() error {
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "owner of k"}); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
			if _, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "next", TTL: time.Minute}); err != nil {
				t.Error(err)
			}
			return ended.Err()
		}}
		time.AfterFunc(time.Second, cancel)
		req := lockrt.Request{Key: "k", ID: "w", TTL: time.Second, Wait: lockrt.Forever}
		if _, err := s.Acquire(leaving, req); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", err)
		}
		if info, err := s.Inspect(t.Context(), "k"); err != nil || info.ID != "next" {
			t.Errorf("the lock is %+v (error %v), want that of the next", info, err)
		}
	})
}

// Resources may remember fences for longer than this process does.
func TestStore_epochsGrowOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := uint64(0)
		for range 3 {
			s := open(t, New())
			g, err := s.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "1", TTL: time.Minute})
			if err != nil || g.Epoch <= last {
				t.Errorf("epoch %d after %d (error %v)", g.Epoch, last, err)
			}
			last = g.Epoch
			time.Sleep(time.Millisecond) // no process starts sooner
		}
	})
}
