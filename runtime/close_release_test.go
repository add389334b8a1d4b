package runtime_test

import (
	"context"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// A release that is under way when Close begins goes on: what it has not released would stay taken for its TTL.
func TestLocker_Close_waitsForAReleaseUnderWay(t *testing.T) {
	asked := make(chan struct{}, 1)
	store := &faultStore{Store: memstore.New()}
	store.release = func(ctx context.Context, rel lockrt.Release, real lockrt.Session) error {
		asked <- struct{}{}
		select {
		case <-time.After(200 * time.Millisecond): // far longer than a Close that does not wait
			return real.Release(ctx, rel)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	locks := newLocker(t, store, lockrt.Config{})
	lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: time.Hour})
	released := make(chan error, 1)
	go func() { released <- lease.Release(t.Context()) }()
	<-asked
	if err := locks.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-released; err != nil {
		t.Errorf("release: %v", err)
	}
	store.set(func(s *faultStore) { s.release = nil })
	mustAcquire(t, newLocker(t, store, lockrt.Config{}), t.Context(), "k", lockrt.Options{TTL: ttl})
}
