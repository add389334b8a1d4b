package ll3003

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// Mutexes that a function of the program wraps when it makes them.

type named struct {
	key string
	mu  *redsync.Mutex
}

func newNamed(rs *redsync.Redsync, key string) *named {
	return &named{key: key, mu: rs.NewMutex(key)}
}

func (n *named) Lock() error    { return n.mu.Lock() }
func (n *named) TryLock() error { return n.mu.TryLock() }
func (n *named) Unlock() error  { _, err := n.mu.Unlock(); return err }

func watch(rs *redsync.Redsync, look func() error) {
	for {
		lock := newNamed(rs, "approvals")
		if err := lock.TryLock(); err != nil { // want `LL3003: the lock from named.TryLock is not released on every path: the next iteration`
			time.Sleep(time.Second)
			continue
		}
		if err := look(); err != nil {
			println(err)
			continue
		}
		lock.Unlock()
	}
}

func watchSafely(rs *redsync.Redsync, look func() error) {
	for {
		lock := newNamed(rs, "approvals")
		if err := lock.TryLock(); err != nil {
			time.Sleep(time.Second)
			continue
		}
		if err := look(); err != nil {
			println(err)
		}
		lock.Unlock()
	}
}

// claimDay is kept until its TTL: whoever is first has the day.
func claimDay(rs *redsync.Redsync, look func() error) error {
	if err := newNamed(rs, "today").TryLock(); err != nil {
		return nil
	}
	return look()
}

// handOn leaves it to its caller.
func handOn(rs *redsync.Redsync) (*named, error) {
	lock := newNamed(rs, "approvals")
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	return lock, nil
}

// shared is made once, and unlocked elsewhere.
type shared struct{ lock *named }

func newShared(rs *redsync.Redsync) *shared { return &shared{lock: newNamed(rs, "shared")} }

func (s *shared) begin() error { return s.lock.Lock() }
func (s *shared) end() error   { return s.lock.Unlock() }

// The same behind interfaces.

type mutexes interface {
	NewMutex(key string) (contextMutex, error)
}

type contextMutex interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

func sweep(ctx context.Context, m mutexes, look func() error) error {
	mu, err := m.NewMutex("sweep")
	if err != nil {
		return err
	}
	if err := mu.Lock(ctx); err != nil { // want `LL3003: the lock from .* is not released on every path`
		return err
	}
	if look() != nil {
		return errors.New("cannot look")
	}
	return mu.Unlock(context.WithoutCancel(ctx))
}

func sweepSafely(ctx context.Context, m mutexes, look func() error) error {
	mu, err := m.NewMutex("sweep")
	if err != nil {
		return err
	}
	if err := mu.Lock(ctx); err != nil {
		return err
	}
	defer mu.Unlock(context.WithoutCancel(ctx))
	return look()
}
