package ll3009

import (
	"context"

	"github.com/hashicorp/consul/api"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Locks behind types of the program's own.

type orderLock struct {
	session *concurrency.Session
	mu      *concurrency.Mutex
}

func newOrderLock(s *concurrency.Session, key string) *orderLock {
	return &orderLock{session: s, mu: concurrency.NewMutex(s, key)}
}

func (l *orderLock) Lock(ctx context.Context) error   { return l.mu.Lock(ctx) }
func (l *orderLock) Unlock(ctx context.Context) error { return l.mu.Unlock(ctx) }
func (l *orderLock) Close() error                     { return l.session.Close() }

func wrapped(ctx context.Context, s *concurrency.Session, paid bool, work func()) error {
	l := newOrderLock(s, "/orders/7")
	if err := l.Lock(ctx); err != nil { // want `LL3009: the lock from orderLock.Lock is not released on every path: the return at line \d+ \(when paid\) leaves it held`
		return err
	}
	if paid {
		return errPaid
	}
	work()
	return l.Unlock(ctx)
}

// watchedLock hands out the channel of Consul.
type watchedLock struct{ lock *api.Lock }

func newWatchedLock(c *api.Client) (*watchedLock, error) {
	l, err := c.LockKey("orders/7")
	if err != nil {
		return nil, err
	}
	return &watchedLock{l}, nil
}

func (l *watchedLock) Lock(stop <-chan struct{}) (<-chan struct{}, error) { return l.lock.Lock(stop) }

func (l *watchedLock) Unlock() error { return l.lock.Unlock() }

func wrappedChannel(ctx context.Context, c *api.Client, paid bool, work func(<-chan struct{})) error {
	l, err := newWatchedLock(c)
	if err != nil {
		return err
	}
	lost, err := l.Lock(ctx.Done()) // want `LL3009: the lock from watchedLock.Lock is not released on every path: the return at line \d+ \(when paid\)`
	if err != nil {
		return err
	}
	if lost == nil {
		return nil
	}
	if paid {
		return errPaid
	}
	work(lost)
	return l.Unlock()
}

// Below is what is fine.

func wrappedDeferred(ctx context.Context, s *concurrency.Session, paid bool, work func()) error {
	l := newOrderLock(s, "/orders/7")
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer l.Unlock(ctx)
	if paid {
		return errPaid
	}
	work()
	return nil
}

// wrappedClosed ends the session, and with it the lock.
func wrappedClosed(ctx context.Context, s *concurrency.Session, paid bool, work func()) error {
	l := newOrderLock(s, "/orders/7")
	defer l.Close()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	work()
	return l.Unlock(ctx)
}

// wrappedLeader keeps it for as long as it lives.
func wrappedLeader(ctx context.Context, s *concurrency.Session) error {
	l := newOrderLock(s, "/leader")
	return l.Lock(ctx)
}

func wrappedTryOnce(c *api.Client, work func(<-chan struct{})) error {
	l, err := newWatchedLock(c)
	if err != nil {
		return err
	}
	lost, err := l.Lock(nil)
	if err != nil {
		return err
	}
	if lost == nil {
		return errPaid
	}
	defer l.Unlock()
	work(lost)
	return nil
}
