// Package store implements the locks of package detached.
package store

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
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
