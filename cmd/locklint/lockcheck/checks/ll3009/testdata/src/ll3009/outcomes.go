package ll3009

import (
	"context"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"
)

// Variables of any type may keep whether there is a lock.

func countsTries(ctx context.Context, s *concurrency.Session, work func()) error {
	m := concurrency.NewMutex(s, "/orders/7")
	i := 0
	for ; i < 3; i++ {
		if m.TryLock(ctx) == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if i == 3 {
		return errPaid
	}
	work()
	return m.Unlock(ctx)
}

func limited(ctx context.Context, s *concurrency.Session, n int, work func()) error {
	m := concurrency.NewMutex(s, "/orders/7")
	if err := m.Lock(ctx); err != nil { // want `LL3009: the lock from Mutex.Lock is not released on every path: .*\(when n == 3\)`
		return err
	}
	if n == 3 {
		return errPaid
	}
	work()
	return m.Unlock(ctx)
}
