package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// bound is how long after the end of its context a call may last.
const bound = 100 * time.Millisecond

// deaf makes a store that executes no release and answers none, before its context ends.
func deaf(store *faultStore) {
	store.set(func(s *faultStore) {
		s.release = func(ctx context.Context, _ lockrt.Release, _ lockrt.Session) error {
			<-ctx.Done()
			return ctx.Err()
		}
	})
}

func TestLease_Release_endsWithItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want time.Duration
		is   error
	}{
		"cancelled before": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, bound, context.Canceled},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, time.Second + bound, context.DeadlineExceeded},
		"no end": {func(context.Context) (context.Context, context.CancelFunc) {
			return context.Background(), func() {}
		}, 5*time.Second + 250*time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
				deaf(store)
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				began := time.Now()
				err := lease.Release(ctx)
				if took := time.Since(began); took > c.want {
					t.Errorf("it took %s, want at most %s", took, c.want)
				}
				if err == nil || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("the error is %v, want %v", err, c.is)
				}
				if errors.Is(err, context.Canceled) != (c.is == context.Canceled) {
					t.Errorf("nobody cancelled anything, or somebody did: %v", err)
				}
				if c.is == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
					t.Errorf("a limit of ours looks like one of the caller's: %v", err)
				}
				store.set(func(s *faultStore) { s.release = nil })
			})
		})
	}
}

// A store's client makes contexts of its own from the one that it gets, several for a call.
func TestLease_Release_derivedContexts(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				if _, ok := ctx.(interface{ AfterFunc(func()) func() bool }); !ok {
					t.Error("package context starts a goroutine for each context that is made from this one")
				}
				one, cancel := context.WithCancel(ctx)
				defer cancel()
				<-one.Done()
				if !errors.Is(one.Err(), context.DeadlineExceeded) {
					t.Errorf("a caller's deadline ends them with %v", one.Err())
				}
				return real.Release(context.WithoutCancel(ctx), rel)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := lease.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Several leases at a silent store cost the time of one.
func TestLeases_Release_atTheSameTime(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		leases, err := locks.AcquireAll(t.Context(), []string{"a", "b", "c", "d"}, lockrt.Options{TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		deaf(store)
		began := time.Now()
		if err := leases.Release(t.Context()); err == nil {
			t.Error("the leases were released by a store that is silent")
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
		store.set(func(s *faultStore) { s.release = nil })
	})
}

func TestLocker_Close_endsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		deaf(store)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		second := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			second <- locks.Close(ctx)
		}()
		synctest.Wait()
		began := time.Now()
		if err := locks.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v, want its context's error", err)
		}
		if took := time.Since(began); took > time.Second+bound {
			t.Errorf("Close took %s with a context of 1s", took)
		}
		if lease.Context().Err() == nil {
			t.Error("the lease lives after Close")
		}
		<-second
		if took := time.Since(began); took > 2*time.Second+bound {
			t.Errorf("the other Close took %s with a context of 2s", took)
		}
		time.Sleep(6 * time.Second) // what is under way ends
	})
}

// A set that could not be had whole is given back whole: MinHold keeps apart what has run, and nothing has.
func TestLocker_AcquireAll_partialSetIsNotKept(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		blocker := mustAcquire(t, other, t.Context(), "b", lockrt.Options{TTL: time.Hour})
		o := lockrt.Options{TTL: ttl, MinHold: time.Hour}
		if _, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, o); !errors.Is(err, lockrt.ErrBusy) {
			t.Fatalf("the set: %v, want ErrBusy", err)
		}
		if err := blocker.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		leases, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, o)
		if err != nil {
			t.Fatalf("again: %v", err)
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The deadline came while the answer to a renewal was under way: the store may hold the lock for another TTL.
func TestLease_Release_afterALostRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
				real.Renew(ctx, renewals)
				return failAll(renewals, errors.New("the answer was lost"))
			}
		})
		<-lease.Done()
		if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
		if infos, err := locks.List(t.Context(), ""); err != nil || len(infos) != 0 {
			t.Errorf("after the release the store still has %+v, %v", infos, err)
		}
	})
}

// The lease on the first key is broken while the second is waited for. The context that ends is that lease's, and not the
// caller's.
func TestLocker_AcquireAll_leaseThatIsBrokenMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "b", lockrt.Options{TTL: time.Hour})
		done := make(chan error, 1)
		go func() {
			_, err := locks.AcquireAll(t.Context(), []string{"a", "b"}, lockrt.Options{TTL: ttl, Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		if err := other.Break(t.Context(), "a", "test"); err != nil {
			t.Fatal(err)
		}
		err := <-done
		if !errors.Is(err, lockrt.ErrLost) || errors.Is(err, context.Canceled) || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the error is %v, want ErrLost alone", err)
		}
	})
}

// What the store said last stays in the error of a call that ran out of time, and no context of ours does.
func TestLease_Release_keepsWhatTheStoreSaid(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		loading := errors.New("LOADING")
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, _ lockrt.Release, _ lockrt.Session) error {
				<-ctx.Done()
				return errors.Join(ctx.Err(), loading)
			}
		})
		err := lease.Release(t.Context())
		if !errors.Is(err, loading) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want what the store said and no context's", err)
		}
		store.set(func(s *faultStore) { s.release = nil })
	})
}

// A wait too long to be reckoned with is one without an end.
func TestOptions_Wait_huge(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		waits := make(chan time.Duration, 1)
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				waits <- req.Wait
				return real.Acquire(ctx, req)
			}
		})
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever - 1})
		if wait := <-waits; wait != lockrt.Forever {
			t.Errorf("the store was asked to wait for %s", wait)
		}
	})
}

// Many leases at a silent store do not add up: after 5 s without an answer the rest is left to its TTL.
func TestLocker_Close_manyLeasesAtASilentStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range manyKeys(300) {
			mustAcquire(t, locks, t.Context(), key, lockrt.Options{TTL: time.Hour})
		}
		deaf(store)
		began := time.Now()
		if err := locks.Close(context.Background()); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v, want that the store did not answer", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("Close took %s", took)
		}
	})
}

// Those that are released first may end sooner than the rest can know that the store is silent.
func TestLocker_Close_shortLeasesAtASilentStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range manyKeys(300) {
			mustAcquire(t, locks, t.Context(), key, lockrt.Options{TTL: 4 * time.Second})
		}
		deaf(store)
		began := time.Now()
		_ = locks.Close(context.Background())
		if took := time.Since(began); took > 5*time.Second+bound {
			t.Errorf("Close took %s", took)
		}
	})
}

// Trying all at once and then one after another must not take the time of both.
func TestLocker_AcquireAll_silentStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		silence := errors.New("no answer")
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, _ lockrt.Request, _ lockrt.Session) (lockrt.Grant, error) {
				select {
				case <-ctx.Done():
					return lockrt.Grant{}, ctx.Err()
				case <-time.After(5 * time.Second):
					return lockrt.Grant{}, silence
				}
			}
		})
		began := time.Now()
		_, err := locks.AcquireAll(t.Context(), manyKeys(40), lockrt.Options{TTL: ttl, Wait: time.Minute})
		if !errors.Is(err, silence) || !strings.Contains(err.Error(), "acquire lock") {
			t.Errorf("the error is %v, want what the store said, and of which lock", err)
		}
		if took := time.Since(began); took > 5*time.Second+bound {
			t.Errorf("it took %s", took)
		}
	})
}

// What a set has is given back when it cannot be had whole; the caller does not wait for that at a silent store.
func TestLocker_AcquireAll_givesBackAtASilentStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		mustAcquire(t, other, t.Context(), "b", lockrt.Options{TTL: time.Hour})
		deaf(store)
		began := time.Now()
		_, err := locks.AcquireAll(context.Background(), []string{"a", "b"}, lockrt.Options{TTL: ttl, Wait: time.Second})
		if took := time.Since(began); !errors.Is(err, lockrt.ErrBusy) || took > time.Second+2*bound {
			t.Errorf("%v after %s, want ErrBusy after 1s", err, took)
		}
		store.set(func(s *faultStore) { s.release = nil })
	})
}

// A release beside another has that one's result, and its own context.
func TestLease_Release_besideAnother(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		deaf(store)
		began := time.Now()
		results := make(chan error, 2)
		for range 2 {
			go func() { results <- lease.Release(context.Background()) }()
		}
		synctest.Wait()
		for _, end := range []time.Duration{0, 200 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), end)
			second := time.Now()
			err := lease.Release(ctx)
			if took := time.Since(second); !errors.Is(err, context.DeadlineExceeded) || took > end+bound {
				t.Errorf("with a context of %s: %v after %s", end, err, took)
			}
			cancel()
		}
		for range 2 {
			if err := <-results; err == nil {
				t.Error("a release that the store did not answer returns nil")
			}
		}
		if took := time.Since(began); took > 5*time.Second+4*bound {
			t.Errorf("two releases took %s", took)
		}
		store.set(takesAll)
	})
}

// A context of the caller's own may panic. That is the caller's bug, and nobody else's.
func TestLocker_Acquire_contextThatPanics(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		holder := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		for _, method := range []string{"Done", "Deadline", "Err"} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: Acquire swallows the panic", method)
					}
				}()
				ctx := panicContext{t.Context(), method}
				_, _ = locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: time.Second})
			}()
		}
		if err := holder.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
	})
}

type panicContext struct {
	context.Context
	method string
}

func (c panicContext) Done() <-chan struct{} {
	c.panics("Done")
	return c.Context.Done()
}

func (c panicContext) Deadline() (time.Time, bool) {
	c.panics("Deadline")
	return c.Context.Deadline()
}

func (c panicContext) Err() error {
	c.panics("Err")
	return c.Context.Err()
}

func (c panicContext) panics(method string) {
	if method == c.method {
		panic(method)
	}
}

// The store has done what it was asked for, and nobody heard of it: the second release is not the loss of a lease.
func TestLease_Release_againAfterALostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
		lost := errors.New("the line was cut")
		store.set(func(s *faultStore) {
			s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
				_ = real.Release(ctx, rel)
				return lost
			}
		})
		if err := lease.Release(t.Context()); !errors.Is(err, lost) {
			t.Fatalf("the first release: %v", err)
		}
		store.set(func(s *faultStore) { s.release = nil })
		for range 2 {
			if err := lease.Release(t.Context()); err != nil || !errors.Is(lease.Err(), lockrt.ErrNotHeld) {
				t.Errorf("again: %v; the lease says %v", err, lease.Err())
			}
		}
	})
}

// A holder that does not release keeps the lock to the end of its MaxHold, and not for another TTL.
func TestLease_MaxHold_boundsRenewals(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{})
		began := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute, MaxHold: 90 * time.Second})
		if err := lease.Extend(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		if took := time.Since(began); took > 95*time.Second {
			t.Errorf("the next holder had to wait %s for a MaxHold of 90s", took)
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) || !strings.Contains(cause.Error(), "MaxHold") {
			t.Errorf("the lease ended with %v, want its MaxHold", cause)
		}
	})
}

// Who gets a passed-on lease that cannot be renewed waits for what is left of the wait, and not for all of it again.
func TestLocker_Acquire_waitsOnceBehindAPassedLease(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		locks, err := lockrt.New(store, lockrt.Config{Logger: quiet(), LocalHandoffTime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		first := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Minute, NoRenew: true})
		time.Sleep(10 * time.Second) // a tenth of its time is over: who gets it renews it first
		var all sync.WaitGroup
		all.Go(func() {
			began := time.Now()
			_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute, Wait: 4 * time.Second})
			if took := time.Since(began); took > 4*time.Second+100*time.Millisecond {
				t.Errorf("with a wait of 4 s it took %s (%v)", took, err)
			}
		})
		time.Sleep(time.Millisecond)
		store.set(func(s *faultStore) { // the store is silent, and the driver keeps to the limits that it gets
			s.renew = blackHole
			s.release = lateRelease(time.Hour)
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				select {
				case <-time.After(min(req.Wait, 5*time.Second)):
					return lockrt.Grant{}, errors.New("no answer")
				case <-ctx.Done():
					return lockrt.Grant{}, ctx.Err()
				}
			}
		})
		_ = first.Release(t.Context())
		all.Wait()
		store.set(func(s *faultStore) { s.renew, s.release, s.acquire = nil, nil, nil })
		_ = locks.Close(t.Context())
	})
}
