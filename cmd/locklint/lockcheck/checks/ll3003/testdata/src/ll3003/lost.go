package ll3003

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// The lock is gone where its time to live is over.

func goneByTTL(ctx context.Context, client *redislock.Client) error {
	lock, err := client.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	if ttl, err := lock.TTL(ctx); err == nil && ttl == 0 {
		return errPaid
	}
	if ttl, err := lock.TTL(ctx); err == nil && ttl <= 0 {
		return errPaid
	}
	return lock.Release(context.Background())
}

func goneByTime(ctx context.Context, rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	if time.Now().After(mutex.Until()) {
		return errPaid
	}
	if !time.Now().Before(mutex.Until()) {
		return errPaid
	}
	if mutex.Until().Before(time.Now()) {
		return errPaid
	}
	if left := time.Until(mutex.Until()); left <= 0 {
		return errPaid
	}
	if time.Since(mutex.Until()) > 0 {
		return errPaid
	}
	_, err := mutex.Unlock()
	return err
}

func littleLeft(ctx context.Context, client *redislock.Client) error {
	lock, err := client.Obtain(ctx, "a", time.Minute, nil) // want `LL3003: the lock from Obtain is not released on every path: the return at line 57 \(when err == nil && ttl < time.Second\) leaves it held`
	if err != nil {
		return err
	}
	if ttl, err := lock.TTL(ctx); err == nil && ttl < time.Second {
		return errPaid
	}
	return lock.Release(context.Background())
}

func stillThere(ctx context.Context, rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.LockContext(ctx); err != nil { // want `LL3003: the lock from Mutex.LockContext is not released on every path: the return at line 68 \(when time.Now\(\).Add\(time.Second\).After\(mutex.Until\(\)\)\) and 1 more leaves it held`
		return err
	}
	if time.Now().Add(time.Second).After(mutex.Until()) {
		return errPaid
	}
	if time.Until(mutex.Until()) > 0 {
		return errPaid
	}
	_, err := mutex.Unlock()
	return err
}
