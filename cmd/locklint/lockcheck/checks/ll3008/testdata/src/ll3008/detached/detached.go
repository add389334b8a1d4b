// Package detached releases through interfaces whose implementations are seen.
package detached

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"ll3008/detached/store"
)

func work() error { return nil }

// The only implementation detaches.

type Lease interface {
	Release(ctx context.Context) error
	Detached()
}

type lease struct{ l *redislock.Lock }

func (l lease) Release(ctx context.Context) error { return l.l.Release(context.WithoutCancel(ctx)) }

func (l lease) Detached() {}

func take(ctx context.Context, c *redislock.Client) (Lease, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return lease{l}, nil
}

func takesDetached(ctx context.Context, c *redislock.Client) error {
	l, err := take(ctx, c)
	if err != nil {
		return err
	}
	defer l.Release(ctx)
	return work()
}

// The context is over, but not that of the release.
func releasesAtEnd(ctx context.Context, c *redislock.Client) error {
	l, err := take(ctx, c)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return l.Release(ctx)
}

// The only implementation hands the context on.

type passingLease struct {
	l *redislock.Lock
}

func (l *passingLease) Release(ctx context.Context) error { return l.l.Release(ctx) }
func (l *passingLease) Passes()                           {}

type Passing interface {
	Release(ctx context.Context) error
	Passes()
}

func takePassing(ctx context.Context, c *redislock.Client) (Passing, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &passingLease{l}, nil
}

func takesPassing(ctx context.Context, c *redislock.Client) error {
	l, err := takePassing(ctx, c)
	if err != nil {
		return err
	}
	defer l.Release(ctx) // want `LL3008: l.Release is given the caller's context`
	return work()
}

// Several implementations, which all detach, whatever they are made of.

type Mutex interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Detached()
}

type redsyncMutex struct{ m *redsync.Mutex }

func (r *redsyncMutex) Lock(ctx context.Context) error { return r.m.LockContext(ctx) }
func (r *redsyncMutex) Detached()                      {}
func (r *redsyncMutex) Unlock(ctx context.Context) error {
	_, err := r.m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

type scriptMutex struct {
	rdb        *redis.Client
	key, token string
}

var del = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (s *scriptMutex) Lock(ctx context.Context) error { return s.rdb.Get(ctx, "k").Err() }
func (s *scriptMutex) Detached()                      {}
func (s *scriptMutex) Unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	return del.Run(ctx, s.rdb, []string{s.key}, s.token).Err()
}

type remoteMutex struct{ rdb *redis.Client }

func (r *remoteMutex) Lock(ctx context.Context) error { return r.rdb.Get(ctx, "k").Err() }
func (r *remoteMutex) Unlock(ctx context.Context) error {
	return r.rdb.Get(context.Background(), "k").Err()
}
func (r *remoteMutex) Detached() {}

func locksDetached(ctx context.Context, m Mutex) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(ctx)
	return work()
}

// One of several hands the context on.

type Mixed interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Mixed()
}

type mixedDetached struct{ m *redsync.Mutex }

func (r *mixedDetached) Lock(ctx context.Context) error { return r.m.LockContext(ctx) }
func (r *mixedDetached) Mixed()                         {}
func (r *mixedDetached) Unlock(ctx context.Context) error {
	_, err := r.m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

type mixedPassing struct{ rdb *redis.Client }

func (r *mixedPassing) Lock(ctx context.Context) error   { return r.rdb.Get(ctx, "k").Err() }
func (r *mixedPassing) Unlock(ctx context.Context) error { return r.rdb.Get(ctx, "k").Err() }
func (r *mixedPassing) Mixed()                           {}

func locksMixed(ctx context.Context, m Mixed) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(ctx) // want `LL3008: m.Unlock is given the caller's context`
	return work()
}

// Nothing that implements it is seen.

type Unseen interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Unseen()
}

func locksUnseen(ctx context.Context, m Unseen) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(ctx) // want `LL3008: m.Unlock is given the caller's context`
	return work()
}

// What implements it is seen in a package that is imported.

type Remote interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	Remote()
}

var _ = []Remote{new(store.Mutex), new(store.Other)}

func locksRemote(ctx context.Context, m Remote) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(ctx)
	return work()
}
