package ll3003

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// A flag by which a function decides whether its deferred literal releases the lock.

func keepsOnPurpose(rs *redsync.Redsync, keep bool, tick <-chan time.Time, done <-chan error) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil {
		return err
	}
	unlock := true
	defer func() {
		if !unlock {
			return
		}
		m.Unlock()
	}()
	for {
		select {
		case err := <-done:
			return err
		case <-tick:
			if keep {
				unlock = false
				continue
			}
			m.Extend()
		}
	}
}

func handsOver(ctx context.Context, c *redislock.Client, key string, start func() error) error {
	lock, err := c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			lock.Release(ctx)
		}
	}()
	if err := start(); err != nil {
		return err
	}
	kept = true
	return nil
}

// A flag that says yes only at the end forgets the other ways out.
func releasesAtTheEnd(rs *redsync.Redsync, work func() error) error {
	m := rs.NewMutex("k")
	if err := m.Lock(); err != nil { // want `LL3003: the lock from Mutex.Lock is not released on every path: the return at line \d+`
		return err
	}
	worked := false
	defer func() {
		if worked {
			m.Unlock()
		}
	}()
	if err := work(); err != nil {
		return err
	}
	worked = true
	return nil
}
