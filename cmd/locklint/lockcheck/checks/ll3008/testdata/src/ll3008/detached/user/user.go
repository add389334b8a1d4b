// Package user knows nothing but the interface of another package.
package user

import (
	"context"

	"ll3008/detached/store"
)

func work() error { return nil }

func locksHeld(ctx context.Context, m store.Held) error {
	unlock := m.Unlock
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer unlock(ctx)
	return work()
}
