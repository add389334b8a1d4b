// Package store implements the locks of package detached.
package store

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// Mutex detaches its releases.
type Mutex struct{ m *redsync.Mutex }

func (m *Mutex) Lock(ctx context.Context) error { return m.m.LockContext(ctx) }

func (m *Mutex) Unlock(ctx context.Context) error {
	_, err := m.m.UnlockContext(context.WithoutCancel(ctx))
	return err
}

func (m *Mutex) Remote() {}

// Other detaches its releases.
type Other struct {
	c *redislock.Client
	l *redislock.Lock
}

func (o *Other) Lock(ctx context.Context) (err error) {
	o.l, err = o.c.Obtain(ctx, "other", time.Minute, nil)
	return err
}

func (o *Other) Unlock(ctx context.Context) error { return o.l.Release(context.WithoutCancel(ctx)) }

func (o *Other) Remote() {}

// Held has an implementation of which only the context says that it detaches. Its users see neither.
type Held interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	held()
}

type heldMutex struct{ Mutex }

func (heldMutex) held() {}

type heldElsewhere struct{ rdb *redis.Client }

func (h *heldElsewhere) Lock(ctx context.Context) error { return h.rdb.Get(ctx, "a").Err() }

func (h *heldElsewhere) Unlock(ctx context.Context) error {
	return h.rdb.Get(context.WithoutCancel(ctx), "b").Err()
}

func (*heldElsewhere) held() {}
