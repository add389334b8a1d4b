package lockrt_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocker_permits(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		var leases []*lockrt.Lease
		for i, l := range []*lockrt.Locker{locks, locks, other} {
			lease := mustAcquire(t, l, t.Context(), "k", permits(3))
			if lease.Slot() != i {
				t.Errorf("slot %d, want %d", lease.Slot(), i)
			}
			leases = append(leases, lease)
		}
		if mustAcquire(t, locks, t.Context(), "other", write).Slot() != -1 || (*lockrt.Lease)(nil).Slot() != -1 {
			t.Error("a lease without permits has a slot")
		}
		_, err := locks.TryAcquire(t.Context(), "k", permits(3))
		if busy := (*lockrt.BusyError)(nil); !errors.As(err, &busy) || busy.Holders != 3 {
			t.Errorf("a fourth gives %v, want a BusyError with 3 holders", err)
		}
		time.Sleep(10 * ttl) // they are all renewed
		for _, lease := range leases {
			if err := lease.Check(t.Context()); err != nil {
				t.Errorf("permit %d: %v", lease.Slot(), err)
			}
		}
		next := queueing(locks, t.Context(), "k", permits(3))
		mustRelease(t, leases[2])
		if lease := next.granted(t, true); lease.Slot() != 2 {
			t.Errorf("slot %d, want the one that is free", lease.Slot())
		}
		mustRelease(t, leases[0], leases[1], next.lease)
	})
}

func TestLocker_permitsPassOnInAProcess(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		one := mustAcquire(t, locks, t.Context(), "k", permits(2))
		two := mustAcquire(t, locks, t.Context(), "k", permits(2))
		count := store.count()
		asks := queueing(locks, t.Context(), "k", permits(2))
		stands := queueing(locks, t.Context(), "k", permits(2))
		smaller := queueing(locks, t.Context(), "k", permits(1))
		mustRelease(t, two)
		asks.granted(t, false) // it stands in the store's queue
		passed := stands.granted(t, true)
		if passed.Slot() != two.Slot() || passed.Fence() != two.Fence()+1 {
			t.Errorf("slot %d and fence %d were passed on as %d and %d",
				two.Slot(), two.Fence(), passed.Slot(), passed.Fence())
		}
		if c := count(); c.acquires != 1 || c.releases != 0 {
			t.Errorf("the store was asked: %+v", c)
		}
		time.Sleep(time.Second) // longer than LocalHandoffTime
		mustRelease(t, passed)
		if lease := asks.granted(t, true); lease.Slot() != two.Slot() || lease.Fence() <= passed.Fence() {
			t.Errorf("slot %d and fence %d after %d and %d", lease.Slot(), lease.Fence(), passed.Slot(), passed.Fence())
		}
		mustRelease(t, one)
		smaller.granted(t, false)
		mustRelease(t, asks.lease)
		mustRelease(t, smaller.granted(t, true))
	})
}

// Permits with a MinHold are a rate limit.
func TestLocker_permitsWithMinHoldAreARate(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		o := permits(10)
		o.MinHold = time.Second
		var starts []time.Time
		began := time.Now()
		results := make(chan time.Time)
		for range 55 {
			go func() {
				lease, err := locks.Acquire(t.Context(), "mail", o)
				if err != nil {
					t.Error(err)
				}
				results <- time.Now()
				_ = lease.Release(t.Context())
			}()
		}
		for range 55 {
			starts = append(starts, <-results)
		}
		slices.SortFunc(starts, time.Time.Compare)
		for i := 10; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-10]); gap < time.Second {
				t.Errorf("starts %d and %d are %s apart", i-10, i, gap)
			}
		}
		if took := time.Since(began); took > 5*time.Second+100*time.Millisecond {
			t.Errorf("55 starts took %s at ten a second", took)
		}
		synctest.Wait()
	})
}

func TestLocker_limitChangesAtOnce(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		next := newLocker(t, store, lockrt.Config{})
		var old []*lockrt.Lease
		for range 5 {
			old = append(old, mustAcquire(t, locks, t.Context(), "k", permits(5)))
		}
		small := queueing(next, t.Context(), "k", permits(3))
		behind := queueing(locks, t.Context(), "k", permits(5))
		time.Sleep(time.Second)
		mustRelease(t, old[0], old[1])
		small.granted(t, false)
		behind.granted(t, false)
		mustRelease(t, old[2])
		lease := small.granted(t, true)
		if lease.Slot() != 0 {
			t.Errorf("slot %d, want the lowest that is free", lease.Slot())
		}
		behind.granted(t, true)
		mustRelease(t, old[3], old[4], lease, behind.lease)
	})
}

// A caller that gives up leaves its place at the store to the next, which cannot use that of another kind.
func TestLocker_placesAreOfOneKind(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		holder := mustAcquire(t, other, t.Context(), "k", write)
		impatient := write
		impatient.Wait = time.Second
		w := queueing(locks, t.Context(), "k", impatient)
		r := queueing(locks, t.Context(), "k", read)
		time.Sleep(2 * time.Second)
		w.granted(t, false)
		info, err := locks.Holder(t.Context(), "k")
		if err != nil || len(info.Waiters) != 1 || info.Waiters[0].Mode != lockrt.Read {
			t.Errorf("%+v wait (error %v), want one reader", info.Waiters, err)
		}
		mustRelease(t, holder)
		lease := r.granted(t, true)
		beside, err := other.TryAcquire(t.Context(), "k", read)
		if err != nil {
			t.Fatalf("the reader holds the lock alone: %v", err)
		}
		mustRelease(t, lease, beside)
	})
}
