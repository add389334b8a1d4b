package ll3009

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var errPaid = errors.New("paid already")

func etcd(ctx context.Context, s *concurrency.Session, paid bool, work func()) error {
	mu := concurrency.NewMutex(s, "/orders/7")
	if err := mu.Lock(ctx); err != nil { // want `LL3009: the lock from Mutex.Lock is not released on every path: the return at line 20 \(when paid\) leaves it held`
		return err
	}
	if paid {
		return errPaid
	}
	work()
	return mu.Unlock(ctx)
}

func zookeeper(conn *zk.Conn, paid bool, work func()) error {
	l := zk.NewLock(conn, "/orders/7", zk.WorldACL(31))
	if err := l.Lock(); err != nil { // want `LL3009: the lock from Lock.Lock is not released on every path`
		return err
	}
	if paid {
		return errPaid
	}
	work()
	return l.Unlock()
}

func consul(c *api.Client, paid bool, work func(<-chan struct{})) error {
	l, err := c.LockKey("orders/7")
	if err != nil {
		return err
	}
	lost, err := l.Lock(nil) // want `LL3009: the lock from Lock.Lock is not released on every path`
	if err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	work(lost)
	return l.Unlock()
}

// Below is what is fine.

func deferred(ctx context.Context, s *concurrency.Session, paid bool, work func()) error {
	mu := concurrency.NewMutex(s, "/orders/7")
	if err := mu.Lock(ctx); err != nil {
		return err
	}
	defer mu.Unlock(ctx)
	if paid {
		return errPaid
	}
	work()
	return nil
}

// session: what ends the session ends its locks.
func session(ctx context.Context, paid bool, work func()) error {
	s, err := concurrency.NewSession()
	if err != nil {
		return err
	}
	defer s.Close()
	mu := concurrency.NewMutex(s, "/orders/7")
	if err := mu.Lock(ctx); err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	work()
	return mu.Unlock(ctx)
}

// tryOnce: without a channel there is no lock.
func tryOnce(c *api.Client, work func(<-chan struct{})) error {
	l, err := c.LockOpts(&api.LockOptions{Key: "orders/7", LockTryOnce: true})
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

// leader keeps it for as long as it lives.
func leader(conn *zk.Conn) error {
	l := zk.NewLock(conn, "/leader", zk.WorldACL(31))
	return l.Lock()
}

// handsOn gives the lock to its caller.
func handsOn(ctx context.Context, s *concurrency.Session) (func() error, error) {
	mu := concurrency.NewMutex(s, "/orders/7")
	if err := mu.Lock(ctx); err != nil {
		return nil, err
	}
	return func() error { return mu.Unlock(ctx) }, nil
}
