package lockrt_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// silent makes a store that answers no acquire.
func silent(store *faultStore) {
	store.set(func(s *faultStore) {
		s.acquire = func(ctx context.Context, _ lockrt.Request, _ lockrt.Session) (lockrt.Grant, error) {
			<-ctx.Done()
			return lockrt.Grant{}, ctx.Err()
		}
	})
}

// Nobody holds the lock, the store is silent: whoever waits behind the one who asks must not be told that it is busy.
func TestLocker_Acquire_silentStoreIsNotBusy(t *testing.T) {
	for name, give := range map[string]func(cancel func()){
		"wait over": func(func()) { time.Sleep(2 * time.Second) },
		"cancelled": func(cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				silent(store)
				go func() { // the one who asks
					_, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
				}()
				synctest.Wait()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: time.Second})
					done <- err
				}()
				synctest.Wait()
				give(cancel)
				if err := <-done; err == nil || errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("the error is %v, and nobody holds the lock", err)
				}
			})
		})
	}
}

// The waits of a crowd end together, and nobody knows who holds the lock: one asks, not each of them at once, which the
// store could not answer in time.
func TestLocker_Acquire_crowdAsksOnceWhoIsInTheWay(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store.Store, lockrt.Config{Node: "other"})
		held, err := other.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		silent(store)
		var asked atomic.Int32
		store.set(func(s *faultStore) {
			s.list = func() {
				asked.Add(1)
				time.Sleep(10 * time.Millisecond)
			}
		})
		go func() { // the one who stands in the queue for all
			_, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
		}()
		synctest.Wait()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				var busy *lockrt.BusyError
				if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Second}); !errors.As(err, &busy) ||
					busy.Holder != "other" {
					t.Errorf("%v, want that another node holds the lock", err)
				}
			})
		}
		all.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("the store was asked %d times", n)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The store refuses one who asks for a local queue: all in it hear so at once, instead of asking one after another.
func TestLocker_Acquire_errorOfTheStoreEndsTheWholeQueue(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		down := errors.New("the store is down")
		answer := make(chan struct{})
		asked := 0
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				asked++
				<-answer
				return lockrt.Grant{}, down
			}
		})
		const callers = 10
		errs := make(chan error, callers)
		for range callers {
			go func() {
				_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Hour})
				errs <- err
			}()
		}
		synctest.Wait()
		close(answer)
		for range callers {
			if err := <-errs; !errors.Is(err, down) || errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("the error is %v, want the store's", err)
			}
		}
		if asked != 1 {
			t.Errorf("the store was asked %d times, want once", asked)
		}
	})
}

// What the store said to the one who asks counts for those behind it.
func TestLocker_Acquire_busyByTheWordOfTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{Node: "holder"})
		mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: time.Hour})
		go func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute}) }()
		synctest.Wait()
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Second})
		busy := new(lockrt.BusyError)
		if !errors.As(err, &busy) || busy.Holder != "holder" || busy.Remaining != time.Hour-time.Second {
			t.Errorf("the error is %v, want the holder and what is left of its lease", err)
		}
	})
}

func TestLocker_misuse(t *testing.T) {
	ctx := context.Background()
	o := lockrt.Options{TTL: ttl}
	work := func(context.Context, *lockrt.Lease) error { return nil }
	for name, locks := range map[string]*lockrt.Locker{"nil": nil, "zero": new(lockrt.Locker)} {
		_, acquire := locks.Acquire(ctx, "k", o)
		_, try := locks.TryAcquire(ctx, "k", o)
		_, all := locks.AcquireAll(ctx, []string{"k"}, o)
		_, list := locks.List(ctx, "")
		_, _, page := locks.ListPage(ctx, "", "", 1)
		_, holder := locks.Holder(ctx, "k")
		for call, err := range map[string]error{
			"Acquire": acquire, "TryAcquire": try, "AcquireAll": all, "List": list, "ListPage": page, "Holder": holder,
			"Do": locks.Do(ctx, "k", o, work), "Break": locks.Break(ctx, "k", ""), "Force": locks.Force(ctx, "k", ""),
			"Close": locks.Close(ctx),
		} {
			if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), "lockrt.New") {
				t.Errorf("%s of a %s Locker: %v", call, name, err)
			}
		}
		if locks.Node() != "" || locks.Namespace() != "" || locks.Store() != nil {
			t.Errorf("a %s Locker has a node, a namespace or a store", name)
		}
	}
	locks := newLocker(t, &faultStore{Store: memstore.New()}, lockrt.Config{})
	var none context.Context
	if lockrt.FromContext(none) != nil || lockrt.Held(none, "k") != nil || !errors.Is(lockrt.AssertHeld(none, "k"), lockrt.ErrNotHeld) {
		t.Error("there is a lease in no context")
	}
	_, acquire := locks.Acquire(none, "k", o)
	_, holder := locks.Holder(none, "k")
	for call, err := range map[string]error{
		"Acquire": acquire, "Holder": holder, "Do": locks.Do(none, "k", o, work), "Close": locks.Close(none),
		"Do without a function": locks.Do(ctx, "k", o, nil), "DoAll": locks.DoAll(ctx, []string{"k"}, o, nil),
	} {
		if !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%s of nothing: %v, want ErrOptions", call, err)
		}
	}
}

func TestErrors_doNotRepeatAHugeKey(t *testing.T) {
	locks := newLocker(t, &faultStore{Store: memstore.New()}, lockrt.Config{})
	huge := strings.Repeat("ä", 1<<20)
	_, err := locks.Acquire(t.Context(), huge, lockrt.Options{TTL: ttl})
	if !errors.Is(err, lockrt.ErrKey) || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "2097152 bytes") {
		t.Errorf("an error of %d bytes: %.300s", len(err.Error()), err)
	}
	long := strings.Repeat("k", 4096)
	held := mustAcquire(t, locks, t.Context(), long, lockrt.Options{TTL: ttl})
	_, busy := locks.TryAcquire(t.Context(), long, lockrt.Options{TTL: ttl})
	_, nested := locks.Acquire(held.Context(), long, lockrt.Options{TTL: ttl})
	for _, err := range []error{busy, nested, lockrt.AssertHeld(t.Context(), long)} {
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes: %.300s", len(err.Error()), err)
		}
	}
}

// The one who asks for the queue has a context that ends. What the others hear of that is not the end of theirs.
func TestLocker_Acquire_endOfAnotherCallersContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		refused := errors.New("refused")
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, _ lockrt.Session) (lockrt.Grant, error) {
				if req.Told != nil {
					req.Told(nil, errors.Join(context.DeadlineExceeded, refused))
				}
				<-ctx.Done()
				return lockrt.Grant{}, errors.Join(ctx.Err(), refused)
			}
		})
		go func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Hour}) }()
		synctest.Wait()
		_, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Second})
		if !errors.Is(err, refused) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want what the store said and no context's", err)
		}
	})
}

// The lease that the store named is over, and the store is silent since: nobody can say that the lock is busy.
func TestLocker_Acquire_oldWordOfTheStore(t *testing.T) {
	for name, wait := range map[string]time.Duration{"wait over": 3 * time.Second, "context over": lockrt.Forever} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, _ lockrt.Session) (lockrt.Grant, error) {
						if req.Told != nil {
							req.Told(&lockrt.BusyError{Key: req.Key, Holder: "x", Remaining: time.Second}, nil)
						}
						<-ctx.Done()
						return lockrt.Grant{}, ctx.Err()
					}
				})
				go func() { _, _ = locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Hour}) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				if wait != lockrt.Forever {
					ctx = t.Context()
				}
				_, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl, Wait: wait})
				if err == nil || errors.Is(err, lockrt.ErrBusy) {
					t.Errorf("the error is %v, by a word that is 2 s too old", err)
				}
			})
		})
	}
}

// Who gives up asks who is in the way, and holds nobody up meanwhile.
func TestLocker_Acquire_givesUpItsPlaceAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		const look = 40 * time.Millisecond
		answer := make(chan struct{})
		store.set(func(s *faultStore) {
			s.list = func() { time.Sleep(look) }
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				<-answer
				return real.Acquire(ctx, req)
			}
		})
		acquire := func(wait time.Duration, then func(*lockrt.Lease, error)) {
			go func() { then(locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: wait})) }()
			synctest.Wait()
		}
		start, served := time.Now(), make(chan time.Duration, 1)
		acquire(lockrt.Forever, func(lease *lockrt.Lease, err error) {
			if err == nil {
				err = lease.Release(t.Context())
			}
			if err != nil {
				t.Errorf("the first in the queue: %v", err)
			}
		})
		acquire(time.Second, func(_ *lockrt.Lease, err error) {
			if err == nil {
				t.Error("the second has the lock when its wait is over")
			}
		})
		acquire(lockrt.Forever, func(lease *lockrt.Lease, err error) {
			if err != nil {
				t.Errorf("the third: %v", err)
			} else if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
			served <- time.Since(start)
		})
		time.Sleep(time.Second + look/4)
		close(answer)
		if at := <-served; at >= time.Second+look {
			t.Errorf("the third was served at %s, when the second had its answer", at)
		}
	})
}
