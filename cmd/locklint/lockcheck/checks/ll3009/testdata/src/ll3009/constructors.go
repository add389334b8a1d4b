package ll3009

import (
	"context"
	"os"

	"go.etcd.io/etcd/client/v3/concurrency"
)

type holder struct{ mu *concurrency.Mutex }

// newHolder hands the lock over where it succeeds, and releases it otherwise.
func newHolder(ctx context.Context, s *concurrency.Session) (_ *holder, err error) {
	mu := concurrency.NewMutex(s, "/orders/7")
	if err := mu.Lock(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = mu.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if _, err := os.Open("x"); err != nil {
		return nil, err
	}
	return &holder{mu}, nil
}
