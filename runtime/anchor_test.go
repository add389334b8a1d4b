package lockrt_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"

	"github.com/lockgen/lockgen/internal/testsync"
)

// passedOn releases a lease behind which another caller waits, and reports whether that gets the same grant.
func passedOn(t *testing.T, locks *lockrt.Locker, lease *lockrt.Lease) bool {
	t.Helper()
	next := make(chan *lockrt.Lease, 1)
	go func() {
		two, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Hour, Wait: lockrt.Forever})
		if err != nil {
			t.Error(err)
		}
		next <- two
	}()
	synctest.Wait()
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	two := <-next
	defer func() { _ = two.Release(t.Context()) }()
	return two.Fence().Epoch() == lease.Fence().Epoch()
}

func TestLease_Anchor(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		locks, err := lockrt.New(memstore.New(), lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		acquire := func() *lockrt.Lease {
			return mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour, Reentrant: true})
		}
		if !passedOn(t, locks, acquire()) {
			t.Error("a lease without an anchor is not passed on")
		}
		anchored := acquire()
		if _, err := anchored.Anchor(); err != nil {
			t.Fatal(err)
		}
		if passedOn(t, locks, anchored) {
			t.Error("an anchored lease is passed on")
		}
		if _, err := anchored.Anchor(); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("an anchor behind the release: %v, want ErrNotHeld", err)
		}

		twice := acquire()
		one, _ := twice.Anchor()
		two, _ := twice.Anchor()
		one()
		one()
		if passedOn(t, locks, twice) {
			t.Error("with one of two anchors left it is passed on")
		}
		two()
		freed := acquire()
		undo, _ := freed.Anchor()
		undo()
		if !passedOn(t, locks, freed) {
			t.Error("once the anchor is taken back it is not passed on")
		}

		outer := acquire()
		inner := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: time.Hour, Reentrant: true})
		if _, err := inner.Anchor(); err != nil {
			t.Fatal(err)
		}
		if err := inner.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if passedOn(t, locks, outer) {
			t.Error("the anchor of an inner lease ends with it")
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Its error is that of Err, whatever ended the lease.
func TestLease_Anchor_ended(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		_, locks := opened(t)
		reader := lockrt.Options{TTL: time.Minute, Mode: lockrt.Read}
		mustAcquire(t, locks, t.Context(), "r", reader)
		reader.MaxHold = time.Second
		ended := mustAcquire(t, locks, t.Context(), "r", reader)
		time.Sleep(2 * time.Second)
		overdue := mustAcquire(t, locks, t.Context(), "w", lockrt.Options{TTL: time.Second, NoRenew: true})
		lockrt.StopTimers(locks)
		time.Sleep(1500 * time.Millisecond)
		for name, lease := range map[string]*lockrt.Lease{"by MaxHold": ended, "at its deadline": overdue, "none": nil} {
			_, err := lease.Anchor()
			if want := lease.Err(); err == nil || !errors.Is(err, want) {
				t.Errorf("a lease that ended %s: %v, want %v", name, err, want)
			}
		}
		_ = locks.Close(t.Context())
	})
}
