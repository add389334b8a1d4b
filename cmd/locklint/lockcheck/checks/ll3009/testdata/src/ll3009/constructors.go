package ll3009

import (
	"context"
	"os"

	"github.com/hashicorp/consul/api"
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

// The channel of Consul's lock is nil where there is none, also where a goroutine uses it.

func watched(ctx context.Context, c *api.Client, work func(context.Context) error) error {
	l, err := c.LockKey("orders/7")
	if err != nil {
		return err
	}
	lost, err := l.Lock(ctx.Done())
	if err != nil {
		return err
	}
	if lost == nil {
		return nil
	}
	defer l.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return work(ctx)
}

func watchedButPaid(ctx context.Context, c *api.Client, paid bool, work func(context.Context) error) error {
	l, err := c.LockKey("orders/7")
	if err != nil {
		return err
	}
	lost, err := l.Lock(ctx.Done()) // want `LL3009: the lock from Lock.Lock is not released on every path: the return at line \d+ \(when paid\) leaves it held$`
	if err != nil {
		return err
	}
	if lost == nil {
		return nil
	}
	if paid {
		return errPaid
	}
	defer l.Unlock()
	go func() { <-lost }()
	return work(ctx)
}
