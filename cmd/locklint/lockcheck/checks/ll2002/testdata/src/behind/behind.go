// Package behind has a lock over an interface of its own; no client is imported.
package behind

import (
	"context"
	"errors"
	"time"
)

type Backend interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Del(ctx context.Context, key string) error
}

type Locker struct{ rdb Backend }

type lock struct {
	rdb Backend
	key string
}

var errHeld = errors.New("held")

func (l *Locker) Run(ctx context.Context, key string, work func() error) error {
	ok, err := l.rdb.SetNX(ctx, key, "token", time.Minute)
	if err != nil || !ok {
		return errHeld
	}
	defer l.rdb.Del(ctx, key) // want `LL2002: Del releases this lock`
	return work()
}

// A handle that knows its key.

func (l *Locker) Acquire(ctx context.Context, key string) (*lock, error) {
	ok, err := l.rdb.SetNX(ctx, key, "token", time.Minute)
	if err != nil || !ok {
		return nil, errHeld
	}
	return &lock{rdb: l.rdb, key: key}, nil
}

func (l *lock) Release(ctx context.Context) error {
	return l.rdb.Del(ctx, l.key) // want `LL2002: Del releases this lock`
}

// An entry that knows its key is no lock: nobody releases it.

type entry struct {
	rdb Backend
	key string
}

func (l *Locker) put(ctx context.Context, key string) *entry {
	l.rdb.SetNX(ctx, key, "value", time.Minute)
	return &entry{rdb: l.rdb, key: key}
}

func (e *entry) drop(ctx context.Context) error { return e.rdb.Del(ctx, e.key) }

// Store has a Del, but no SetNX: whatever it deletes, it is not known to be Redis.
type Store interface {
	Del(ctx context.Context, key string) error
}

func drop(ctx context.Context, s Store, key string) { s.Del(ctx, key) }
