// Package locks wraps the locks of libraries in types of its own.
package locks

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis/rueidislock"
)

// ErrBusy says that somebody else holds the lock.
var ErrBusy = errors.New("busy")

// A Mutex keeps one of redsync.
type Mutex struct {
	name string
	mu   *redsync.Mutex
}

func New(rs *redsync.Redsync, name string) *Mutex {
	return &Mutex{name: name, mu: rs.NewMutex(name)}
}

func (m *Mutex) Lock(ctx context.Context) error { return m.mu.LockContext(ctx) }

func (m *Mutex) TryLock(ctx context.Context) bool { return m.mu.TryLockContext(ctx) == nil }

func (m *Mutex) Unlock(ctx context.Context) error {
	ok, err := m.mu.UnlockContext(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return ErrBusy
	}
	return nil
}

func (m *Mutex) Name() string { return m.name }

// A Keyed makes a mutex for each lock.
type Keyed struct {
	rs *redsync.Redsync
	mu *redsync.Mutex
}

func (k *Keyed) Acquire(name string) error {
	mu := k.rs.NewMutex(name)
	if err := mu.Lock(); err != nil {
		return ErrBusy
	}
	k.mu = mu
	return nil
}

func (k *Keyed) Done() {
	if k.mu != nil {
		k.mu.Unlock()
	}
}

// A LockHolder keeps a lock of redislock.
type LockHolder struct {
	client *redislock.Client
	lock   *redislock.Lock
}

func (h *LockHolder) Take(ctx context.Context, key string) (bool, error) {
	lock, err := h.client.Obtain(ctx, key, time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, err
	}
	if err != nil {
		return false, err
	}
	h.lock = lock
	return true, nil
}

// Give releases whatever has become of the context.
func (h *LockHolder) Give(ctx context.Context) error {
	return h.lock.Release(context.WithoutCancel(ctx))
}

// A Lease is what Client hands out.
type Lease struct {
	key  string
	lock *redislock.Lock
}

func (l *Lease) Release(ctx context.Context) error { return l.lock.Release(ctx) }

func (l *Lease) Key() string { return l.key }

type Client struct{ inner *redislock.Client }

func (c *Client) Obtain(ctx context.Context, key string) (*Lease, error) {
	lock, err := c.inner.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &Lease{key: key, lock: lock}, nil
}

// ObtainFunc hands out the function that releases.
func (c *Client) ObtainFunc(ctx context.Context, key string) (func(), error) {
	lock, err := c.inner.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release(context.Background()) }, nil
}

// ObtainMethod hands out the method that releases.
func (c *Client) ObtainMethod(ctx context.Context, key string) (func(context.Context) error, error) {
	lock, err := c.inner.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return lock.Release, nil
}

// A SessionLock keeps the cancel function of rueidislock.
type SessionLock struct {
	locker rueidislock.Locker
	cancel context.CancelFunc
	other  func()
}

func (s *SessionLock) Begin(ctx context.Context, name string) error {
	_, cancel, err := s.locker.TryWithContext(ctx, name)
	if err != nil {
		return err
	}
	s.cancel = cancel
	return nil
}

func (s *SessionLock) End() { s.cancel() }

func (s *SessionLock) Other() { s.other() }

// A Locker hides the only implementation.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Name() string
}

// ThroughMutex hands a wrapper to a wrapper.
type ThroughMutex struct{ inner *Mutex }

func (t *ThroughMutex) Enter(ctx context.Context) error { return t.inner.Lock(ctx) }

func (t *ThroughMutex) Leave(ctx context.Context) error { return t.inner.Unlock(ctx) }

// Forgives says nothing of its outcome.
type Forgives struct{ mu *redsync.Mutex }

func (f *Forgives) Lock() error {
	if err := f.mu.Lock(); err != nil {
		return nil
	}
	return nil
}

func (f *Forgives) Unlock() { f.mu.Unlock() }

// Within is no half of a lock.
func (m *Mutex) Within(ctx context.Context, f func() error) error {
	if err := m.mu.LockContext(ctx); err != nil {
		return err
	}
	defer m.mu.UnlockContext(ctx)
	return f()
}

// Redis is a lock by hand.
type Redis struct{ rdb *redis.Client }

func (r *Redis) Lock(ctx context.Context, key, token string) (bool, error) {
	return r.rdb.SetNX(ctx, key, token, time.Minute).Result()
}

func (r *Redis) Unlock(ctx context.Context, key string) error { return r.rdb.Del(ctx, key).Err() }

// A Worker takes a lock when it starts, which is its own business.
type Worker struct{ mu *redsync.Mutex }

func (w *Worker) Start(ctx context.Context) error { return w.mu.LockContext(ctx) }

func (w *Worker) Stop(ctx context.Context) { w.mu.UnlockContext(context.WithoutCancel(ctx)) }

// An Anyhow tells apart that somebody else has its lock, and returns all other errors of redislock as they are.
type Anyhow struct {
	client *redislock.Client
	lock   *redislock.Lock
}

func (a *Anyhow) Obtain(ctx context.Context, key string) error {
	lock, err := a.client.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		if errors.Is(err, redislock.ErrNotObtained) {
			return ErrBusy
		}
		return err
	}
	a.lock = lock
	return nil
}

func (a *Anyhow) ReleaseLock(ctx context.Context) { _ = a.lock.Release(ctx) }

// An Always has one error of its own for all.
type Always struct{ mu *redsync.Mutex }

func (a *Always) Lock(ctx context.Context) error {
	err := a.mu.LockContext(ctx)
	if err == redsync.ErrFailed {
		return err
	}
	if err != nil {
		return ErrBusy
	}
	return nil
}

func (a *Always) Unlock(ctx context.Context) { _, _ = a.mu.UnlockContext(ctx) }
