package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Close says nothing of locks of which nothing is left, though somebody has had trouble with them.

// unanswered has a store renew leases without an answer.
func unanswered(s *faultStore) {
	s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
		_ = real.Renew(ctx, r)
		return failAll(r, errors.New("i/o timeout"))
	}
}

// Leases are released in the moment in which they are lost.
func TestLocker_Close_releasedAtTheirEnd(t *testing.T) {
	for name, o := range map[string]lockrt.Options{
		"MaxHold":           {TTL: time.Hour, MaxHold: time.Second},
		"MaxHold of a read": {TTL: time.Hour, MaxHold: time.Second, Mode: lockrt.Read},
		"NoRenew":           {TTL: 10 * time.Second, NoRenew: true},
		"no renewals":       {TTL: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				testsync.Bubble(t, func(t *testing.T) {
					store, locks := opened(t)
					var all sync.WaitGroup
					for i := range 500 {
						lease := mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o)
						all.Go(func() {
							<-lease.Done()
							if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
								t.Error(err)
							}
						})
					}
					store.set(unanswered)
					all.Wait()
					leavesNothing(t, store)
					store.set(func(s *faultStore) { s.release = lateRelease(time.Hour) })
					if err := locks.Close(t.Context()); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			}
		})
	}
}

// Leases are released at their deadline, the store takes its time to refuse, and its end for them is later. Their MinHold
// is not taken back.
func TestLocker_Close_minHoldReleasedAtTheDeadline(t *testing.T) {
	const keys = 400
	for range 5 {
		testsync.Bubble(t, func(t *testing.T) {
			store, locks := opened(t)
			store.set(func(s *faultStore) {
				unanswered(s)
				s.release = func(context.Context, lockrt.Release, lockrt.Session) error {
					time.Sleep(2 * time.Second)
					return errors.New("refused")
				}
			})
			var leases []*lockrt.Lease
			for i := range keys {
				o := lockrt.Options{TTL: 10 * time.Second, MinHold: time.Minute}
				leases = append(leases, mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o))
			}
			var all sync.WaitGroup
			for _, lease := range leases {
				all.Go(func() {
					time.Sleep(time.Until(lease.Deadline()))
					_ = lease.Release(t.Context())
				})
			}
			time.Sleep(time.Until(leases[0].Deadline()) + time.Second)
			time.AfterFunc(1500*time.Millisecond, func() { store.set(takesAll) })
			_ = locks.Close(t.Context())
			all.Wait()
			kept, err := newLocker(t, store, lockrt.Config{}).List(t.Context(), "")
			if err != nil || len(kept) != keys {
				t.Errorf("%d of %d are kept (%v)", len(kept), keys, err)
			}
		})
	}
}

// A lock is broken while its release is under way, which then fails.
func TestLocker_Close_brokenBesideARelease(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error {
				time.Sleep(time.Second)
				return errors.New("refused")
			}
		})
		var release sync.WaitGroup
		release.Go(func() { _ = lease.Release(t.Context()) })
		time.Sleep(500 * time.Millisecond)
		if err := locks.Break(t.Context(), "k", "test"); err != nil {
			t.Fatal(err)
		}
		closesAll(t, store, locks)
		release.Wait()
	})
}

// A renewal of a grant that came late says that it is lost, and then the store refuses its release.
func TestLocker_Close_lateGrantThatWasLost(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				defer time.Sleep(4 * time.Second)
				return real.Acquire(c, req)
			}
			refuses(s)
		})
		var acquire sync.WaitGroup
		acquire.Go(func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 3 * time.Second}) })
		time.Sleep(time.Second)
		closesAll(t, store, locks)
		acquire.Wait()
	})
}

// The store refuses a release of Close, and its user's, a moment later, it takes. And the other way about: it refuses the
// user's, which was under way when Close began.
func TestLocker_Close_besideAUserWhoReleases(t *testing.T) {
	for _, o := range []lockrt.Options{{TTL: time.Hour}, {TTL: time.Hour, MinHold: time.Minute}} {
		for _, late := range []time.Duration{0, 200 * time.Millisecond} {
			testsync.Bubble(t, func(t *testing.T) {
				store, locks := opened(t)
				lease := mustAcquire(t, locks, t.Context(), "refused", o)
				mustAcquire(t, locks, t.Context(), "slow", lockrt.Options{TTL: time.Hour})
				refused := false
				store.set(func(s *faultStore) {
					s.release = func(c context.Context, rel lockrt.Release, real lockrt.Session) error {
						switch {
						case rel.Key == "slow":
							time.Sleep(time.Second)
						case !refused:
							refused = true
							time.Sleep(100 * time.Millisecond)
							return errors.New("refused")
						}
						return real.Release(c, rel)
					}
				})
				var user sync.WaitGroup
				user.Go(func() {
					time.Sleep(late)
					_ = lease.Release(t.Context())
				})
				time.Sleep(50 * time.Millisecond)
				if err := locks.Close(t.Context()); err != nil {
					t.Errorf("%+v, released %s after that: close: %v", o, late, err)
				}
				user.Wait()
				left, err := newLocker(t, store, lockrt.Config{}).List(t.Context(), "")
				if kept := len(left) == 1; kept != (o.MinHold > 0) || err != nil {
					t.Errorf("%+v: %d locks are left (%v)", o, len(left), err)
				}
			})
		}
	}
}

// A lock is broken while the answer that grants it is under way, and then the store refuses its release.
func TestLocker_Close_brokenBeforeItIsKnown(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				defer time.Sleep(time.Second)
				return real.Acquire(c, req)
			}
			refuses(s)
		})
		var acquire sync.WaitGroup
		acquire.Go(func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Hour}) })
		time.Sleep(500 * time.Millisecond)
		if err := newLocker(t, store, lockrt.Config{}).Break(t.Context(), "k", "test"); err != nil {
			t.Fatal(err)
		}
		closesAll(t, store, locks)
		acquire.Wait()
	})
}

// Each lock that MinHold does not keep is told of, if only as one of many.
func TestLocker_Close_manyNotKept(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error {
				time.Sleep(4 * time.Second)
				return errors.New("refused")
			}
		})
		for i := range 30 {
			o := lockrt.Options{TTL: 10 * time.Second, MinHold: time.Hour, NoRenew: true}
			mustAcquire(t, locks, t.Context(), fmt.Sprint(i), o)
		}
		time.Sleep(8 * time.Second)
		err := fmt.Sprint(locks.Close(t.Context()))
		if named := strings.Count(err, "release lock"); named != 10 || !strings.Contains(err, "20 more locks") {
			t.Errorf("Close names %d: %s", named, err)
		}
	})
}

// Every release of a lock that MinHold did not keep has had its answer.
func TestLease_Release_againOfOneNotKept(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 10 * time.Second, MinHold: time.Minute})
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error {
				return failAll(r, errors.New("refused"))
			}
		})
		<-lease.Done()
		time.Sleep(5 * time.Second)
		for range 2 {
			if err := lease.Release(t.Context()); strings.Contains(fmt.Sprint(err), "had no answer") {
				t.Errorf("release: %v", err)
			}
		}
		closesAll(t, store, locks)
	})
}

// A grant that came too late is asked for again, unless the Locker closes: the caller hears that, and not how late it was.
func TestLocker_Close_besideALateGrant(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store, locks := opened(t)
		store.set(func(s *faultStore) {
			s.acquire = func(c context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				defer time.Sleep(4 * time.Second)
				return real.Acquire(c, req)
			}
		})
		var acquire sync.WaitGroup
		acquire.Go(func() {
			_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: 3 * time.Second, Wait: time.Hour})
			if !errors.Is(err, lockrt.ErrClosed) || errors.Is(err, lockrt.ErrLost) {
				t.Errorf("acquire: %v, want ErrClosed", err)
			}
		})
		time.Sleep(time.Second)
		closesAll(t, store, locks)
		acquire.Wait()
	})
}
