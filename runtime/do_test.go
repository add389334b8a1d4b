package lockrt_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocker_Do_errors(t *testing.T) {
	work := errors.New("work failed")
	lose := func(ctx context.Context) { // stays until the lease is lost
		<-ctx.Done()
	}
	for name, test := range map[string]struct {
		fn        func(ctx context.Context) error
		is, isNot []error
		same      error // want exactly this
	}{
		"nil":                        {fn: func(context.Context) error { return nil }, isNot: []error{lockrt.ErrLost}},
		"work's own, unchanged":      {fn: func(context.Context) error { return work }, same: work},
		"lost and nil":               {fn: func(ctx context.Context) error { lose(ctx); return nil }, is: []error{lockrt.ErrLost}},
		"lost and work's":            {fn: func(ctx context.Context) error { lose(ctx); return work }, is: []error{lockrt.ErrLost, work}},
		"lost and the context's":     {fn: func(ctx context.Context) error { lose(ctx); return ctx.Err() }, is: []error{lockrt.ErrLost, context.Canceled}},
		"lost and the cause, once":   {fn: func(ctx context.Context) error { lose(ctx); return context.Cause(ctx) }, is: []error{lockrt.ErrLost}},
		"another lock's ErrBusy too": {fn: func(context.Context) error { return lockrt.ErrBusy }, same: lockrt.ErrBusy},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
				err := locks.Do(t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true}, func(ctx context.Context, _ *lockrt.Lease) error {
					return test.fn(ctx)
				})
				if test.same != nil && err != test.same || test.same == nil && len(test.is) == 0 && err != nil {
					t.Errorf("the error is %v", err)
				}
				for _, target := range test.is {
					if !errors.Is(err, target) {
						t.Errorf("the error is %v, want it to wrap %v", err, target)
					}
				}
				if err != nil && strings.Count(err.Error(), "is lost") > 1 {
					t.Errorf("the loss is told twice: %v", err)
				}
			})
		})
	}
}

func TestLocker_Do_releaseThatFailedIsLoggedNotReturned(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		log := new(testsync.Log)
		locks := newLocker(t, store, lockrt.Config{Logger: log.Logger()})
		store.set(func(s *faultStore) {
			s.release = func(context.Context, lockrt.Release, lockrt.Session) error { return errors.New("connection refused") }
		})
		err := locks.Do(t.Context(), "k", lockrt.Options{TTL: ttl}, func(context.Context, *lockrt.Lease) error { return nil })
		if err != nil {
			t.Errorf("Do after good work: %v", err)
		}
		synctest.Wait()
		if !strings.Contains(log.String(), "connection refused") {
			t.Errorf("the failed release is not logged: %s", log)
		}
		store.set(takesAll)
	})
}

func TestLocker_Do_releasesOnPanicAndGoexit(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":  func() { panic("at the disco") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
				left := make(chan any)
				go func() {
					defer func() { left <- recover() }()
					_ = locks.Do(t.Context(), "k", lockrt.Options{TTL: ttl}, func(context.Context, *lockrt.Lease) error {
						leave()
						return nil
					})
					t.Error("Do returned")
				}()
				if value := <-left; name == "panic" && value != "at the disco" {
					t.Errorf("recovered %v, want the panic's own value", value)
				}
				mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
			})
		})
	}
}

func TestLocker_Do_busyDoesNotRun(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		err := locks.Do(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: ttl}, func(context.Context, *lockrt.Lease) error {
			t.Error("it ran")
			return nil
		})
		if !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the error is %v, want ErrBusy", err)
		}
	})
}

func TestLocker_AcquireAll(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		leases, err := locks.AcquireAll(t.Context(), []string{"c", "a", "b", "a"}, lockrt.Options{TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, lease := range leases {
			keys = append(keys, lease.Key())
		}
		if got := strings.Join(keys, " "); got != "a b c" {
			t.Errorf("acquired %q, want a b c", got)
		}
		if leases.Lease("b") != leases[1] || leases.Lease("d") != nil {
			t.Error("Lease(key) is not the lease on key")
		}
		if err := locks.Break(t.Context(), "a", "test"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("break in a store that cannot: %v", err)
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Error(err)
		}
		<-leases.Context().Done()
		if infos, err := locks.List(t.Context(), ""); err != nil || len(infos) != 0 {
			t.Errorf("after the release %v are held (error %v)", infos, err)
		}
	})
}

func TestLocker_AcquireAll_busyReleasesThoseBefore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		held := mustAcquire(t, other, t.Context(), "b", lockrt.Options{TTL: ttl})
		first := mustAcquire(t, other, t.Context(), "a", lockrt.Options{TTL: ttl})
		start := time.Now()
		time.AfterFunc(ttl/4, func() { _ = first.Release(context.Background()) })
		_, err := locks.AcquireAll(t.Context(), []string{"c", "b", "a"}, lockrt.Options{TTL: ttl, Wait: ttl / 2})
		if !errors.Is(err, lockrt.ErrBusy) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("the error is %v, want ErrBusy on b", err)
		}
		if waited := time.Since(start); waited != ttl/2 {
			t.Errorf("waited %s, want %s in all", waited, ttl/2)
		}
		mustAcquire(t, other, t.Context(), "a", lockrt.Options{TTL: ttl})
		mustAcquire(t, other, t.Context(), "c", lockrt.Options{TTL: ttl})
		if held.Err() != nil {
			t.Error("the lease of somebody else was touched")
		}
	})
}

// TestLocker_AcquireAll_lossWhileItWaits has the lease on the first key end while the second is waited for.
func TestLocker_AcquireAll_lossWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "b", lockrt.Options{TTL: time.Hour})
		_, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, lockrt.Options{TTL: ttl, NoRenew: true, Wait: 2 * ttl})
		if !errors.Is(err, lockrt.ErrLost) || !strings.Contains(err.Error(), `lease on "a"`) {
			t.Errorf("the error is %v, want ErrLost for a", err)
		}
	})
}

func TestLocker_Acquire_saysWhyItsContextEnded(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		why := errors.New("the user has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		for _, state := range []string{"in the wait", "before it"} {
			_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("cancelled %s: %v, want context.Canceled and its cause", state, err)
			}
		}
	})
}

func TestLocker_DoAll_isLostWithAnyLease(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		err := locks.DoAll(t.Context(), []string{"b", "a"}, lockrt.Options{TTL: ttl}, func(ctx context.Context, leases lockrt.Leases) error {
			store.set(func(s *faultStore) {
				s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
					errs := real.Renew(ctx, renewals)
					for i, r := range renewals {
						if r.Key == "a" {
							errs[i] = lockrt.ErrLost
						}
					}
					return errs
				}
			})
			<-ctx.Done()
			if err := leases.Lease("b").Err(); err != nil {
				t.Errorf("the other lease ended too: %v", err)
			}
			return nil
		})
		if !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("the error is %v, want ErrLost", err)
		}
	})
}
