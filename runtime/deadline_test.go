package lockrt_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const ttl = 10 * time.Second

// ttlMargin is what a holder gives away of ttl.
const ttlMargin = ttl / 50

func TestLease_Context_endsAtItsDeadlineWhateverACallInFlightDoes(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) { s.renew = blackHole })
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		<-lease.Context().Done()
		if held := time.Since(start); held != ttl-ttlMargin {
			t.Errorf("the context ended after %s, want %s", held, ttl-ttlMargin)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
			t.Errorf("the context's cause is %v, want ErrLost", cause)
		}
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl})
		if blind := time.Since(start) - ttl; blind != 0 {
			t.Errorf("acquired by another %s after the TTL", blind)
		}
	})
}

func TestLease_Context_endsCountedFromTheLastAcknowledgedRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		var last time.Time // when the last acknowledged renewal was sent
		calls := 0
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				if calls++; calls > 3 {
					return blackHole(ctx, renewals, real)
				}
				last = time.Now()
				errs := real.Renew(ctx, renewals)
				time.Sleep(ttl / 100) // the answer is slow: the lease counts from before
				return errs
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		<-lease.Done()
		if held := time.Since(last); held != ttl-ttlMargin {
			t.Errorf("the lease ended %s after its last renewal was sent, want %s", held, ttl-ttlMargin)
		}
	})
}

func TestLease_renewal_recoversFromErrors(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		fail := true
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				if fail = !fail; !fail {
					return failAll(renewals, errors.New("connection reset"))
				}
				return real.Renew(ctx, renewals)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(20 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("lost while every second renewal works: %v", err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestLease_renewal_stopsAtRelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		var calls atomic.Int64
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				calls.Add(1)
				return real.Renew(ctx, renewals)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(ttl)
		if calls.Load() == 0 {
			t.Error("not renewed during a TTL")
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls.Store(0)
		time.Sleep(10 * ttl)
		if calls.Load() != 0 {
			t.Errorf("%d renewals after the release", calls.Load())
		}
	})
}

func TestLease_renewal_inFlightAtReleaseDoesNotReviveTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		answer := heldBack(store)
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(ttl / 2) // a renewal has begun
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
				t.Error("a released lease is renewed")
				return failAll(renewals, lockrt.ErrLost)
			}
		})
		close(answer)
		time.Sleep(2 * ttl)
		if err := lease.Err(); !errors.Is(err, lockrt.ErrNotHeld) {
			t.Errorf("after the release Err is %v, want ErrNotHeld", err)
		}
	})
}

// However many leases are due, a driver is given a bounded number at a time, and each of them once.
func TestLease_renewal_inBatches(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		const leases, most = 5000, 1000
		const ttl = 12 * time.Millisecond // so short that many are due in the same millisecond
		var mu sync.Mutex
		renewed := map[string]int{}
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				mu.Lock()
				defer mu.Unlock()
				if len(renewals) > most {
					t.Errorf("%d renewals in one call", len(renewals))
				}
				for _, r := range renewals {
					renewed[r.ID]++
				}
				return real.Renew(ctx, renewals)
			}
		})
		for i := range leases {
			mustAcquire(t, locks, t.Context(), strconv.Itoa(i), lockrt.Options{TTL: ttl})
		}
		time.Sleep(ttl / 2)
		mu.Lock()
		defer mu.Unlock()
		if len(renewed) != leases {
			t.Errorf("%d of %d leases were renewed", len(renewed), leases)
		}
	})
}

func TestLease_renewal_notMineIsLostAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
				return failAll(renewals, lockrt.ErrLost)
			}
		})
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		<-lease.Context().Done()
		if held := time.Since(start); held > ttl/3 {
			t.Errorf("told after %s, want at the first renewal, %s at most", held, ttl/3)
		}
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error {
				t.Error("the store is asked to release what it said is not ours")
				return lockrt.ErrLost
			}
		})
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
	})
}

func TestLease_renewal_isNotDelayedByACallThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				if renewals[0].Key == "hangs" {
					return blackHole(ctx, renewals, real)
				}
				return real.Renew(ctx, renewals)
			}
		})
		mustAcquire(t, locks, t.Context(), "hangs", lockrt.Options{TTL: 100 * ttl})
		time.Sleep(34 * ttl) // its first renewal is under way, for 100/6 TTLs
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		time.Sleep(10 * ttl)
		if err := lease.Err(); err != nil {
			t.Errorf("lost behind a call for another lease: %v", err)
		}
	})
}

func TestLease_NoRenew_endsAfterItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		<-lease.Done()
		if held := time.Since(start); held != ttl-ttlMargin {
			t.Errorf("ended after %s, want %s", held, ttl-ttlMargin)
		}
	})
}

func TestLease_MaxHold_endsARenewedLeaseAndFreesTheLockAtRelease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: 5 * ttl})
		<-lease.Done()
		if held := time.Since(start); held != 5*ttl {
			t.Errorf("ended after %s, want %s", held, 5*ttl)
		}
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), "MaxHold") {
			t.Errorf("Err is %v, want ErrLost that names MaxHold", err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release is %v, want ErrLost", err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	})
}

func TestLease_MaxHold_boundsDeadlineAndExtend(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		end := time.Now().Add(ttl / 2)
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: ttl / 2})
		if got := lease.Deadline(); !got.Equal(end) {
			t.Errorf("the deadline is %s after the end of MaxHold", got.Sub(end))
		}
		inner := mustAcquire(t, locks, lease.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true, MaxHold: ttl})
		for name, le := range map[string]*lockrt.Lease{"outer": lease, "inner": inner} {
			if err := le.Extend(t.Context(), time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := le.Deadline(); !got.Equal(end) {
				t.Errorf("%s: the deadline after Extend is %s after the end of MaxHold", name, got.Sub(end))
			}
		}
		if info, err := locks.Holder(t.Context(), "k"); err != nil || info.Remaining > ttl {
			t.Errorf("the store keeps the lock for %s (%v), want the TTL at most", info.Remaining, err)
		}
	})
}

func TestLease_MinHold_keepsTheLockAfterARelease(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MinHold: ttl / 2})
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := locks.TryAcquire(t.Context(), "k", lockrt.Options{TTL: ttl})
		var busy *lockrt.BusyError
		if !errors.As(err, &busy) || busy.Holder != "" {
			t.Errorf("acquire during the minimum hold time: %v, want busy without a holder", err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		if held := time.Since(start); held != ttl/2 {
			t.Errorf("free after %s, want %s", held, ttl/2)
		}
	})
}
