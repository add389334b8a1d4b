package lockrt_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLease_Downgrade(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		fence := lease.Fence()
		here, there := queueing(locks, t.Context(), "k", read), queueing(other, t.Context(), "k", read)
		w := queueing(other, t.Context(), "k", write)
		for range 2 {
			if err := lease.Downgrade(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range []*pending{here, there} {
			if beside := r.granted(t, true); beside.Fence() != fence || lease.Fence() != fence {
				t.Errorf("the fences are %d and %d, want still %d", lease.Fence(), beside.Fence(), fence)
			}
		}
		w.granted(t, false)
		time.Sleep(10 * ttl)
		if err := lease.Check(t.Context()); err != nil {
			t.Errorf("check of a downgraded lease: %v", err)
		}
		mustRelease(t, here.lease, there.lease)
		w.granted(t, false)
		if _, err := locks.Acquire(lease.Context(), "k", write); !errors.Is(err, lockrt.ErrUpgrade) {
			t.Errorf("to write again: %v, want ErrUpgrade", err)
		}
		mustRelease(t, lease)
		if next := w.granted(t, true); next.Fence() <= fence {
			t.Errorf("the next writer's fence is %d after %d", next.Fence(), fence)
		}
		mustRelease(t, w.lease)
	})
}

// Readers of this process join a downgraded lease without a round trip.
func TestLease_Downgrade_opensABatch(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		time.Sleep(time.Second)
		if err := lease.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := store.count()
		beside := mustAcquire(t, locks, t.Context(), "k", read)
		mustRelease(t, lease)
		if c := count(); c != (calls{}) {
			t.Errorf("the store was asked: %+v", c)
		}
		mustRelease(t, beside)
		if n := holders(t, locks, "k"); n != 0 {
			t.Errorf("%d hold the lock at the end", n)
		}
	})
}

// A lease that was passed on has a fence above its epoch's: as a reader it would be above those who join it.
func TestLease_Downgrade_afterALocalHandoff(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		first := mustAcquire(t, locks, t.Context(), "k", write)
		second := queueing(locks, t.Context(), "k", write)
		mustRelease(t, first)
		lease := second.granted(t, true)
		before := lease.Fence()
		if before != first.Fence()+1 {
			t.Fatalf("the lease was not passed on: fence %d after %d", before, first.Fence())
		}
		r := queueing(other, t.Context(), "k", read)
		if err := lease.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		here := mustAcquire(t, locks, t.Context(), "k", read)
		beside := r.granted(t, true)
		if lease.Fence() <= before || beside.Fence() != lease.Fence() || here.Fence() != lease.Fence() {
			t.Errorf("the fence is %d after %d, and %d and %d beside it",
				lease.Fence(), before, beside.Fence(), here.Fence())
		}
		mustRelease(t, lease, here, beside)
	})
}

// The store has done it, and a reader of this process is granted its lock before the answer is here.
func TestLease_Downgrade_crossesWithAReader(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", write)
		second := queueing(locks, t.Context(), "k", write)
		mustRelease(t, first)
		lease := second.granted(t, true)
		var beside *lockrt.Lease
		store.downgrade = func(ctx context.Context, d lockrt.Downgrading, real lockrt.Downgrader) (uint64, error) {
			epoch, err := real.Downgrade(ctx, d)
			beside = mustAcquire(t, locks, t.Context(), "k", read)
			return epoch, err
		}
		if err := lease.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		if beside.Err() != nil || beside.Fence() != lease.Fence() {
			t.Errorf("the reader has fence %d and error %v beside %d", beside.Fence(), beside.Err(), lease.Fence())
		}
		mustRelease(t, lease, beside)
	})
}

// The store has done it, and nobody knows.
func TestLease_Downgrade_answerLost(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		down := errors.New("connection reset")
		store.set(func(*faultStore) {
			store.downgrade = func(ctx context.Context, d lockrt.Downgrading, real lockrt.Downgrader) (uint64, error) {
				_, _ = real.Downgrade(ctx, d)
				return 0, down
			}
		})
		if err := lease.Downgrade(t.Context()); !errors.Is(err, down) {
			t.Fatalf("the error is %v, want the store's", err)
		}
		if _, err := locks.Acquire(lease.Context(), "k", write); !errors.Is(err, lockrt.ErrUpgrade) {
			t.Errorf("to write under a lease that may be a reader's: %v, want ErrUpgrade", err)
		}
		beside := mustAcquire(t, other, t.Context(), "k", read)
		time.Sleep(10 * ttl)
		if err := lease.Check(t.Context()); err != nil {
			t.Errorf("check: %v", err)
		}
		store.set(func(*faultStore) { store.downgrade = nil })
		if err := lease.Downgrade(t.Context()); err != nil {
			t.Errorf("asked again: %v", err)
		}
		mustRelease(t, lease, beside)
	})
}

// The store does not answer at all.
func TestLease_Downgrade_ends(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		store.downgrade = func(ctx context.Context, _ lockrt.Downgrading, _ lockrt.Downgrader) (uint64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		began := time.Now()
		err := lease.Downgrade(t.Context())
		if took := time.Since(began); err == nil || errors.Is(err, context.DeadlineExceeded) || took > 6*time.Second {
			t.Errorf("after %s: %v, want an error of the store within 5 s", took, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		err = lease.Downgrade(ctx)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 1100*time.Millisecond {
			t.Errorf("after %s: %v, want the context's error", took, err)
		}
		mustRelease(t, lease)
		if n := holders(t, locks, "k"); n != 0 {
			t.Errorf("%d hold the lock at the end", n)
		}
	})
}

func TestLease_Downgrade_ofWhatCannotBe(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		kept, reentrant := write, write
		kept.MinHold, reentrant.Reentrant = time.Second, true
		outer := mustAcquire(t, locks, t.Context(), "outer", write)
		inner := mustAcquire(t, locks, outer.Context(), "outer", reentrant)
		released := mustAcquire(t, locks, t.Context(), "released", write)
		mustRelease(t, released)
		for name, test := range map[string]struct {
			lease *lockrt.Lease
			want  error
		}{
			"a permit":        {mustAcquire(t, locks, t.Context(), "permit", permits(2)), lockrt.ErrOptions},
			"a MinHold":       {mustAcquire(t, locks, t.Context(), "kept", kept), lockrt.ErrOptions},
			"shared by inner": {outer, lockrt.ErrNested},
			"of an inner":     {inner, lockrt.ErrNested},
			"released":        {released, lockrt.ErrNotHeld},
			"nil":             {nil, lockrt.ErrNotHeld},
		} {
			if err := test.lease.Downgrade(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
		mustRelease(t, inner)
		if err := outer.Downgrade(t.Context()); err != nil {
			t.Errorf("after the inner call: %v", err)
		}
		if err := mustAcquire(t, locks, t.Context(), "read", read).Downgrade(t.Context()); err != nil {
			t.Errorf("of a reader: %v", err)
		}
		lost := mustAcquire(t, locks, t.Context(), "lost", write)
		store.set(func(*faultStore) {
			store.downgrade = func(context.Context, lockrt.Downgrading, lockrt.Downgrader) (uint64, error) {
				return 0, lockrt.ErrLost
			}
		})
		if err := lost.Downgrade(t.Context()); !errors.Is(err, lockrt.ErrLost) || lost.Err() == nil {
			t.Errorf("of what the store does not know: %v, and then %v", err, lost.Err())
		}
	})
}

// meddling is a context that does something at the second look for a lease.
type meddling struct {
	context.Context
	looks atomic.Int32
	do    func()
}

func (c *meddling) Value(key any) any {
	v := c.Context.Value(key)
	if _, ok := v.(*lockrt.Lease); ok && c.looks.Add(1) == 2 {
		c.do()
	}
	return v
}

// A nested call that is to write does not share a lease that reads by then.
func TestLease_Downgrade_besideANestedAcquire(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		_, locks := opened(t)
		outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		ctx := &meddling{Context: outer.Context(), do: func() {
			if err := outer.Downgrade(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}}
		if _, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Reentrant: true}); !errors.Is(err, lockrt.ErrUpgrade) {
			t.Errorf("the nested call: %v, want ErrUpgrade", err)
		}
		if err := outer.Release(t.Context()); err != nil {
			t.Error(err)
		}
		_ = locks.Close(t.Context())
	})
}
