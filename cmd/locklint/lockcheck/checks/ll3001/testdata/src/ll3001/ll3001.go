package ll3001

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	redsync3 "github.com/go-redsync/redsync/v3"
	"github.com/go-redsync/redsync/v4"
)

func work() error { return nil }

func ignored(ctx context.Context, m *redsync.Mutex, old *redsync3.Mutex, lock *redislock.Lock) error {
	m.Unlock()                          // want `LL3001: the result of m.Unlock is ignored: if the lock had expired, somebody else may have worked at the same time`
	m.UnlockContext(ctx)                // want `LL3001`
	m.Extend()                          // want `LL3001: the result of m.Extend is ignored: if the lock could not be extended, the work goes on without it`
	m.ExtendContext(ctx)                // want `LL3001`
	old.Unlock()                        // want `LL3001`
	lock.Release(ctx)                   // want `LL3001: the result of lock.Release is ignored`
	lock.Refresh(ctx, time.Minute, nil) // want `LL3001: the result of lock.Refresh is ignored`
	return nil
}

func renews(m *redsync.Mutex, tick <-chan time.Time) {
	for range tick {
		m.Extend() // want `LL3001`
	}
}

// Fine.

func looked(ctx context.Context, m *redsync.Mutex, lock *redislock.Lock) error {
	if ok, err := m.Extend(); !ok || err != nil {
		return err
	}
	if _, err := m.Unlock(); err != nil {
		return err
	}
	return lock.Release(ctx)
}

func unwanted(ctx context.Context, m *redsync.Mutex, lock *redislock.Lock) {
	_, _ = m.Unlock()
	_ = lock.Release(ctx)
}

func deferred(ctx context.Context, m *redsync.Mutex, lock *redislock.Lock) {
	defer m.Unlock()
	defer func() { lock.Release(ctx) }()
}

func onError(ctx context.Context, m *redsync.Mutex, lock *redislock.Lock) error {
	if err := work(); err != nil {
		m.Unlock()
		lock.Release(ctx)
		return err
	}
	return nil
}

// severalReasons: an error is one of them.
func severalReasons(ctx context.Context, locker *redislock.Client, load func() (*int, error)) error {
	lock, err := locker.Obtain(ctx, "report", time.Minute, nil)
	if err != nil {
		return err
	}
	n, err := load()
	if err != nil || n == nil {
		lock.Release(ctx)
		return err
	}
	return lock.Release(ctx)
}

func withError(code int, text string) error { return nil }

// Each way out with an error that is made there.
func onFailure(m *redsync.Mutex, stock, wanted int) error {
	if stock < wanted {
		m.Unlock()
		return withError(400, "not enough")
	}
	if wanted == 0 {
		m.Unlock()
		return errors.New("nothing is wanted")
	}
	if wanted == 1 {
		m.Unlock() // want `LL3001`
		return work()
	}
	m.Unlock() // want `LL3001`
	return nil
}

func inLoop(m *redsync.Mutex, stocks []int, wanted int) error {
	defer func() {
		if r := recover(); r != nil {
			return
		}
	}()
	for _, stock := range stocks {
		if err := m.Lock(); err != nil {
			return err
		}
		if stock < wanted {
			m.Unlock()
			work()
			return withError(400, "not enough")
		}
		if ok, err := m.Unlock(); !ok || err != nil {
			work()
		}
	}
	return nil
}
