package lockrt_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// faultStore is the memory store with faults: each hook that is not nil runs instead of the real call, which it can
// make through its argument.
type faultStore struct {
	*memstore.Store
	mu      sync.Mutex
	acquire func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error)
	renew   func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error
	release func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error
	list    func() // called before a list

	cfg lockrt.SessionConfig // of the session that was opened last
}

// set changes hooks while calls may be running.
func (s *faultStore) set(change func(*faultStore)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *faultStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	real, err := s.Store.Open(cfg)
	s.cfg = cfg
	return &faultSession{Session: real, store: s}, err
}

// faultSession hides what else the real session can do, so the optional interfaces are seen to be optional too.
type faultSession struct {
	lockrt.Session
	store *faultStore
}

func current[H any](s *faultStore, hook *H) H {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *hook
}

func (s *faultSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if hook := current(s.store, &s.store.acquire); hook != nil {
		return hook(ctx, req, s.Session)
	}
	return s.Session.Acquire(ctx, req)
}

func (s *faultSession) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	if hook := current(s.store, &s.store.list); hook != nil {
		hook()
	}
	return s.Session.List(ctx, prefix)
}

func (s *faultSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	if hook := current(s.store, &s.store.renew); hook != nil {
		return hook(ctx, renewals, s.Session)
	}
	return s.Session.Renew(ctx, renewals)
}

func (s *faultSession) Release(ctx context.Context, rel lockrt.Release) error {
	if hook := current(s.store, &s.store.release); hook != nil {
		return hook(ctx, rel, s.Session)
	}
	return s.Session.Release(ctx, rel)
}

// blackHole answers no renewal before its context ends.
func blackHole(ctx context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
	<-ctx.Done()
	return failAll(renewals, ctx.Err())
}

// heldBack makes renewals that the store executes, and whose answers are held back until the channel is closed.
func heldBack(store *faultStore) (answer chan struct{}) {
	answer = make(chan struct{})
	store.set(func(s *faultStore) {
		s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
			errs := real.Renew(ctx, renewals)
			<-answer
			return errs
		}
	})
	return answer
}

func failAll(renewals []lockrt.Renewal, err error) []error {
	errs := make([]error, len(renewals))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// bubble is a test with a clock of its own: time passes only while everybody waits, so deadlines can be checked to the
// nanosecond.
func bubble(t *testing.T, test func(t *testing.T, store *faultStore, locks *lockrt.Locker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		locks := newLocker(t, store, lockrt.Config{})
		test(t, store, locks)
	})
}

func newLocker(t *testing.T, store lockrt.Store, cfg lockrt.Config) *lockrt.Locker {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	locks, err := lockrt.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := locks.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return locks
}

func mustAcquire(t *testing.T, locks *lockrt.Locker, ctx context.Context, key string, o lockrt.Options) *lockrt.Lease {
	t.Helper()
	lease, err := locks.Acquire(ctx, key, o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// quiet is the logger of tests in which losses are what is wanted.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
