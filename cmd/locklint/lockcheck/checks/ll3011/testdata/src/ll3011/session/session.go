// Package session never asks whether its etcd session has ended.
package session

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"
)

func locked(ctx context.Context, s *concurrency.Session, work func()) error {
	mu := concurrency.NewMutex(s, "/report")
	if err := mu.Lock(ctx); err != nil { // want `LL3011: the loss of the lock that mu.Lock takes goes unnoticed: etcd closes the session's Done, and nothing in this package asks for it`
		return err
	}
	defer mu.Unlock(ctx)
	work()
	return nil
}

// A wrapper is told of once, where it locks, and not at all places that use it.
type wrapper struct{ mu *concurrency.Mutex }

func (w *wrapper) Lock(ctx context.Context) error   { return w.mu.Lock(ctx) } // want `LL3011`
func (w *wrapper) Unlock(ctx context.Context) error { return w.mu.Unlock(ctx) }

func throughWrapper(ctx context.Context, w *wrapper, work func()) error {
	if err := w.Lock(ctx); err != nil {
		return err
	}
	defer w.Unlock(ctx)
	work()
	return nil
}
