package ll3002

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// The error is logged, and that is all.

func loggedAtOnce(ctx context.Context, m *redsync.Mutex) error {
	log.Println(m.LockContext(ctx)) // want `LL3002: the error of m.LockContext is ignored`
	err := work()
	m.Unlock()
	return err
}

func loggedFirst(m *redsync.Mutex) error {
	err := m.Lock() // want `LL3002: the error of m.Lock is ignored`
	log.Printf("lock: %v", err)
	defer m.Unlock()
	return work()
}

func loggedLease(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: the error of c.Obtain is ignored`
	fmt.Println("obtain:", err)
	defer lock.Release(ctx)
	return work()
}

// Somebody looks, or ends the program, or nothing is done under the lock.

func loggedAndLooked(m *redsync.Mutex) error {
	err := m.Lock()
	log.Println(err)
	if err != nil {
		return err
	}
	defer m.Unlock()
	return work()
}

func loggedLockLooked(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	log.Println(err)
	if lock == nil {
		return nil
	}
	defer lock.Release(ctx)
	return work()
}

func loggedText(m *redsync.Mutex) error {
	err := fmt.Errorf("lock: %w", m.Lock())
	if errors.Unwrap(err) != nil {
		return err
	}
	defer m.Unlock()
	return work()
}

func loggedOnly(m *redsync.Mutex) {
	log.Println(m.Lock())
	m.Unlock()
}

// Not judged: the error is kept with others.

func collected(m *redsync.Mutex) error {
	errs := []error{m.Lock()}
	errs = append(errs, work())
	m.Unlock()
	return errors.Join(errs...)
}
