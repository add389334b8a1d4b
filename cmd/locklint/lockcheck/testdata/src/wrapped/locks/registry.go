package locks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// A Registry keeps many locks; two types do so, in their own ways.
type Registry interface {
	Lock(ctx context.Context, key string, ttl time.Duration) error
	Unlock(ctx context.Context, key string) error
}

type obtaining struct {
	client *redislock.Client
	mu     sync.Mutex
	held   map[string]*redislock.Lock
}

func (o *obtaining) Lock(ctx context.Context, key string, ttl time.Duration) error {
	lock, err := o.client.Obtain(ctx, key, ttl, nil)
	if err != nil {
		return fmt.Errorf("lock %s: %w", key, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[key] = lock
	return nil
}

func (o *obtaining) Unlock(ctx context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	lock, ok := o.held[key]
	if !ok {
		return ErrBusy
	}
	delete(o.held, key)
	return lock.Release(ctx)
}

type syncing struct {
	rs   *redsync.Redsync
	held sync.Map
}

func (s *syncing) Lock(ctx context.Context, key string, ttl time.Duration) error {
	mu := s.rs.NewMutex(key, redsync.WithExpiry(ttl))
	if err := mu.LockContext(ctx); err != nil {
		return err
	}
	s.held.Store(key, mu)
	return nil
}

func (s *syncing) Unlock(ctx context.Context, key string) error {
	v, ok := s.held.LoadAndDelete(key)
	if !ok {
		return nil
	}
	_, err := v.(*redsync.Mutex).UnlockContext(ctx)
	return err
}

func NewRegistry(client *redislock.Client, rs *redsync.Redsync) Registry {
	if rs != nil {
		return &syncing{rs: rs}
	}
	return &obtaining{client: client, held: map[string]*redislock.Lock{}}
}
