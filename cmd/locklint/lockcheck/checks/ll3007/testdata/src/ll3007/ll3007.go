package ll3007

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

func byDefault(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	time.Sleep(10 * time.Second) // want `LL3007: the work takes up to 10s, and the lock from Mutex.Lock at line 13 lasts 8s`
	return nil
}

func timeout(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", 5*time.Second, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // want `LL3007: the work takes up to 1m0s, and the lock from Obtain at line 22 lasts 5s`
	defer cancel()
	<-ctx.Done()
	return nil
}

// Fine.

func longer(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a", redsync.WithTries(3), redsync.WithExpiry(time.Minute))
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	time.Sleep(10 * time.Second)
	return nil
}

func extended(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	for range 5 {
		time.Sleep(10 * time.Second)
		mutex.Extend()
	}
	return nil
}

func unknown(rs *redsync.Redsync, expiry time.Duration) error {
	mutex := rs.NewMutex("a", redsync.WithExpiry(expiry))
	if err := mutex.Lock(); err != nil {
		return err
	}
	defer mutex.Unlock()
	time.Sleep(time.Hour)
	return nil
}

func after(rs *redsync.Redsync) error {
	mutex := rs.NewMutex("a")
	if err := mutex.Lock(); err != nil {
		return err
	}
	mutex.Unlock()
	time.Sleep(time.Hour)
	return nil
}
