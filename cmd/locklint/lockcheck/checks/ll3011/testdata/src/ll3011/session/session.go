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
