package lockrt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// sharingStore is a faultStore whose sessions show all that the memory store can do.
type sharingStore struct {
	*faultStore
	downgrade func(ctx context.Context, d lockrt.Downgrading, real lockrt.Downgrader) (uint64, error)
	noRecall  bool // its calls are lost
}

func (s *sharingStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if s.noRecall {
		cfg.Recall = nil
	}
	real, err := s.Store.Open(cfg)
	if err != nil {
		return nil, err
	}
	return &sharingSession{&faultSession{real, s.faultStore}, real.(ability), s}, nil
}

// ability is what memory sessions can do beside what all can.
type ability interface {
	lockrt.Inspector
	lockrt.Breaker
	lockrt.Checker
	lockrt.Pager
	lockrt.Downgrader
}

type sharingSession struct {
	*faultSession
	ability
	sharing *sharingStore
}

func (s *sharingSession) Shares() {}

func (s *sharingSession) Downgrade(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
	if hook := current(s.store, &s.sharing.downgrade); hook != nil {
		return hook(ctx, d, s.ability)
	}
	return s.ability.Downgrade(ctx, d)
}

// calls counts what a store is asked.
type calls struct{ acquires, renewals, releases int }

// count counts the calls from now on.
func (s *sharingStore) count() func() calls {
	var mu sync.Mutex
	var c calls
	s.set(func(s *faultStore) {
		s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
			mu.Lock()
			c.acquires++
			mu.Unlock()
			return real.Acquire(ctx, req)
		}
		s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
			mu.Lock()
			c.renewals += len(renewals)
			mu.Unlock()
			return real.Renew(ctx, renewals)
		}
		s.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
			mu.Lock()
			c.releases++
			mu.Unlock()
			return real.Release(ctx, rel)
		}
	})
	return func() calls {
		mu.Lock()
		defer mu.Unlock()
		return c
	}
}

// sharing is a bubble with a store that shares.
func sharing(t *testing.T, test func(t *testing.T, store *sharingStore, locks *lockrt.Locker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &sharingStore{faultStore: &faultStore{Store: memstore.New()}}
		test(t, store, newLocker(t, store, lockrt.Config{}))
	})
}

var (
	write = lockrt.Options{TTL: ttl, Wait: lockrt.Forever}
	read  = lockrt.Options{TTL: ttl, Wait: lockrt.Forever, Mode: lockrt.Read}
)

func permits(n int) lockrt.Options {
	return lockrt.Options{TTL: ttl, Wait: lockrt.Forever, Permits: n}
}

// pending is an Acquire that waits.
type pending struct {
	lease *lockrt.Lease
	err   error
	done  bool
}

// queueing starts an Acquire and returns when it waits or has ended.
func queueing(locks *lockrt.Locker, ctx context.Context, key string, o lockrt.Options) *pending {
	p := &pending{}
	go func() {
		p.lease, p.err = locks.Acquire(ctx, key, o)
		p.done = true
	}()
	synctest.Wait()
	return p
}

// granted checks whether it has its lease by now.
func (p *pending) granted(t *testing.T, want bool) *lockrt.Lease {
	t.Helper()
	synctest.Wait()
	if got := p.done && p.err == nil; got != want {
		t.Fatalf("granted: %v (done %v, error %v), want %v", got, p.done, p.err, want)
	}
	return p.lease
}

func mustRelease(t *testing.T, leases ...*lockrt.Lease) {
	t.Helper()
	for _, lease := range leases {
		if err := lease.Release(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// holders is how many leases hold a lock at the store.
func holders(t *testing.T, locks *lockrt.Locker, key string) int {
	t.Helper()
	info, err := locks.Holder(t.Context(), key)
	if errors.Is(err, lockrt.ErrNotHeld) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(info.Holders)
}

func TestOptions_kindsThatMakeNoSense(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		count := store.count()
		for name, o := range map[string]lockrt.Options{
			"unknown mode":      {TTL: ttl, Mode: 7},
			"negative permits":  {TTL: ttl, Permits: -1},
			"too many permits":  {TTL: ttl, Permits: 1001},
			"readers' permits":  {TTL: ttl, Mode: lockrt.Read, Permits: 2},
			"MinHold of a read": {TTL: ttl, Mode: lockrt.Read, MinHold: time.Second},
		} {
			if _, err := locks.Acquire(t.Context(), "k", o); !errors.Is(err, lockrt.ErrOptions) {
				t.Errorf("%s: %v, want ErrOptions", name, err)
			}
		}
		if c := count(); c != (calls{}) {
			t.Errorf("the store was asked: %+v", c)
		}
		for _, n := range []int{1, 1000} {
			mustRelease(t, mustAcquire(t, locks, t.Context(), "k", permits(n)))
		}
	})
}

func TestLocker_storeThatDoesNotShare(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				t.Error("the store was asked")
				return lockrt.Grant{}, errors.New("unexpected")
			}
		})
		var err error
		for name, acquire := range map[string]func(){
			"Acquire":    func() { _, err = locks.Acquire(t.Context(), "k", read) },
			"TryAcquire": func() { _, err = locks.TryAcquire(t.Context(), "k", permits(2)) },
			"AcquireAll": func() { _, err = locks.AcquireAll(t.Context(), []string{"a", "b"}, read) },
			"AcquireEach": func() {
				_, err = locks.AcquireEach(t.Context(), []lockrt.KeyOptions{{Key: "a", Mode: lockrt.Read}}, write)
			},
			"Do": func() {
				err = locks.Do(t.Context(), "k", read, func(context.Context, *lockrt.Lease) error { return nil })
			},
		} {
			if acquire(); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v, want errors.ErrUnsupported", name, err)
			}
		}
		store.set(func(s *faultStore) { s.acquire = nil })
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		if err := lease.Downgrade(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Downgrade: %v, want errors.ErrUnsupported", err)
		}
		mustRelease(t, lease)
	})
}

// What a chain holds decides what a nested call may ask for.
func TestLocker_Acquire_nestedKinds(t *testing.T) {
	reentrant := func(o lockrt.Options) lockrt.Options { o.Reentrant = true; return o }
	for _, test := range []struct {
		name         string
		outer, inner lockrt.Options
		want         error
		shares       bool // with Reentrant
	}{
		{"write in write", write, write, lockrt.ErrNested, true},
		{"read in write", write, read, lockrt.ErrNested, true},
		{"permit in write", write, permits(2), lockrt.ErrNested, false},
		{"write in read", read, write, lockrt.ErrUpgrade, false},
		{"read in read", read, read, lockrt.ErrNested, true},
		{"permit in read", read, permits(2), lockrt.ErrNested, false},
		{"write in permit", permits(2), write, lockrt.ErrUpgrade, false},
		{"read in permit", permits(2), read, lockrt.ErrNested, false},
		{"permit in permit", permits(2), permits(2), lockrt.ErrNested, true},
		{"permit of another number", permits(2), permits(3), lockrt.ErrNested, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
				outer := mustAcquire(t, locks, t.Context(), "k", test.outer)
				count := store.count()
				_, err := locks.Acquire(outer.Context(), "k", test.inner)
				if !errors.Is(err, test.want) || !errors.Is(err, lockrt.ErrNested) {
					t.Errorf("%v, want %v", err, test.want)
				}
				if errors.Is(err, lockrt.ErrUpgrade) != (test.want == lockrt.ErrUpgrade) {
					t.Errorf("%v is ErrUpgrade", err)
				}
				inner, err := locks.Acquire(outer.Context(), "k", reentrant(test.inner))
				if test.shares != (err == nil) || err != nil && !errors.Is(err, test.want) {
					t.Errorf("with Reentrant: %v, shares %v", err, test.shares)
				}
				if err == nil && (inner.Fence() != outer.Fence() || inner.Slot() != outer.Slot()) {
					t.Errorf("the inner lease has fence %d and slot %d, the outer %d and %d",
						inner.Fence(), inner.Slot(), outer.Fence(), outer.Slot())
				}
				if c := count(); c != (calls{}) {
					t.Errorf("the store was asked: %+v", c)
				}
				mustRelease(t, inner, outer)
				if n := holders(t, locks, "k"); n != 0 {
					t.Errorf("%d hold the lock at the end", n)
				}
			})
		})
	}
}
