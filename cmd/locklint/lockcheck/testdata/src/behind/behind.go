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

// Store has a Del, but no SetNX: whatever it deletes, it is not known to be Redis.
type Store interface {
	Del(ctx context.Context, key string) error
}

func drop(ctx context.Context, s Store, key string) { s.Del(ctx, key) }
