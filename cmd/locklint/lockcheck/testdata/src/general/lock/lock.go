// Package lock compares by way of another package.
package lock

import (
	"context"
	"time"

	"general/cache"
)

type Lock struct {
	store      cache.Store
	key, token string
}

func (l *Lock) Acquire(ctx context.Context) (bool, error) {
	return l.store.SetIfAbsent(ctx, l.key, l.token, time.Minute)
}

func (l *Lock) Release(ctx context.Context) error {
	owner, err := l.store.Get(ctx, l.key)
	if err != nil || owner != l.token {
		return err
	}
	return l.store.Remove(ctx, l.key) // want `LL2004: DEL \(through Store.Remove\) comes after the Get`
}
