// Package asked stops its work when the etcd session ends.
package asked

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"
)

func locked(ctx context.Context, s *concurrency.Session, work func(context.Context)) error {
	mu := concurrency.NewMutex(s, "/report")
	if err := mu.Lock(ctx); err != nil {
		return err
	}
	defer mu.Unlock(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	work(ctx)
	return nil
}
