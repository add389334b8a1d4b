package kept

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

var errNone = errors.New("none")

// Locks that an object keeps in a map: who locks a key again replaces the lock of the one before.

type Locker struct {
	c     *redislock.Client
	locks sync.Map
}

func (l *Locker) Lock(ctx context.Context, key string) error {
	lock, err := l.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	l.locks.Store(key, lock)
	return nil
}

func (l *Locker) Unlock(ctx context.Context, key string) error {
	v, ok := l.locks.LoadAndDelete(key)
	if !ok {
		return errNone
	}
	return v.(*redislock.Lock).Release(ctx) // want `LL2002: .* releases the lock that is kept under this key, whose ever it is: if that from l.c.Obtain at line 23 has expired`
}

type Mutexes struct {
	rs   *redsync.Redsync
	mu   sync.Mutex
	held map[string]*redsync.Mutex
}

func (m *Mutexes) Acquire(ctx context.Context, key string) error {
	lock := m.rs.NewMutex(key)
	if err := lock.LockContext(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	m.held[key] = lock
	m.mu.Unlock()
	return nil
}

func (m *Mutexes) Release(ctx context.Context, key string) error {
	m.mu.Lock()
	lock, ok := m.held[key]
	delete(m.held, key)
	m.mu.Unlock()
	if !ok {
		return errNone
	}
	_, err := lock.UnlockContext(ctx) // want `LL2002: lock.UnlockContext releases the lock that is kept under this key`
	return err
}

// Careful refuses who comes second.
type Careful struct {
	c     *redislock.Client
	mu    sync.Mutex
	locks map[string]*redislock.Lock
}

func (l *Careful) Lock(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks[key] != nil {
		return errNone
	}
	lock, err := l.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	l.locks[key] = lock
	return nil
}

func (l *Careful) Unlock(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.locks[key]
	delete(l.locks, key)
	return lock.Release(ctx)
}

// Alone lets in one of the process at a time.
type Alone struct {
	c     *redislock.Client
	one   sync.Mutex
	locks map[string]*redislock.Lock
}

func (l *Alone) Lock(ctx context.Context, key string) error {
	l.one.Lock()
	lock, err := l.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		l.one.Unlock()
		return err
	}
	l.locks[key] = lock
	return nil
}

func (l *Alone) Unlock(ctx context.Context, key string) error {
	defer l.one.Unlock()
	lock := l.locks[key]
	delete(l.locks, key)
	return lock.Release(ctx)
}

// ByToken tells its holders apart.
type ByToken struct {
	c     *redislock.Client
	locks sync.Map
}

func (l *ByToken) Lock(ctx context.Context, key, token string) error {
	lock, err := l.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	l.locks.Store(token, lock)
	return nil
}

func (l *ByToken) Unlock(ctx context.Context, token string) error {
	v, ok := l.locks.LoadAndDelete(token)
	if !ok {
		return errNone
	}
	return v.(*redislock.Lock).Release(ctx)
}
