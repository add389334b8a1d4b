package ll3002

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/rueidis/rueidislock"
)

func work() error  { return nil }
func other() error { return nil }

func ignored(m *redsync.Mutex) error {
	m.Lock() // want `LL3002: the error of m.Lock is ignored: when somebody else holds the lock, the code goes on without it`
	defer m.Unlock()
	return work()
}

func blank(m *redsync.Mutex) error {
	_ = m.Lock() // want `LL3002`
	defer m.Unlock()
	return work()
}

func ignoredObtain(ctx context.Context, c *redislock.Client) error {
	lock, _ := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: the error of c.Obtain is ignored`
	defer lock.Release(ctx)
	return work()
}

func logged(rs *redsync.Redsync) error {
	m := rs.NewMutex("a")
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: work at line 41 runs either way`
		log.Println("lock failed", err)
	}
	defer m.Unlock()
	return work()
}

type service struct{ mu *redsync.Mutex }

func (s *service) loggedField() error {
	err := s.mu.Lock() // want `LL3002: when s.mu.Lock fails`
	if err != nil {
		log.Println("lock failed", err)
	}
	err = work()
	s.mu.Unlock()
	return err
}

func bestEffort(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002`
	if err == nil {
		defer lock.Release(ctx)
	}
	return work()
}

func cancelOnly(ctx context.Context, l rueidislock.Locker) error {
	_, cancel, err := l.TryWithContext(ctx, "a") // want `LL3002`
	if err != nil {
		log.Println(err)
	} else {
		defer cancel()
	}
	return work()
}

// Fine.

func returns(m *redsync.Mutex) error {
	if err := m.Lock(); err != nil {
		log.Println(err)
		return err
	}
	defer m.Unlock()
	return work()
}

func cleansUp(m *redsync.Mutex) error {
	err := m.Lock()
	if err == nil {
		err = work()
		m.Unlock()
	}
	other() // with or without
	return err
}

func other2(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return other()
	}
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return work()
}

func waits(m *redsync.Mutex) error {
	for m.Lock() != nil {
		time.Sleep(time.Second)
	}
	defer m.Unlock()
	return work()
}

func retries(ctx context.Context, c *redislock.Client) error {
	for {
		lock, err := c.Obtain(ctx, "a", time.Minute, nil)
		if err != nil {
			if err := other(); err != nil {
				return err
			}
			continue
		}
		defer lock.Release(ctx)
		return work()
	}
}

func nilTested(ctx context.Context, c *redislock.Client) error {
	lock, _ := c.Obtain(ctx, "a", time.Minute, nil)
	if lock == nil {
		return nil
	}
	defer lock.Release(ctx)
	return work()
}

func flagged(m *redsync.Mutex) {
	locked := m.Lock() == nil
	if locked {
		work()
		m.Unlock()
	}
}

func deferredWork(m *redsync.Mutex) error {
	defer func() { other() }()
	if err := m.Lock(); err != nil {
		return err
	}
	defer m.Unlock()
	return work()
}

// Somebody else deals with the failure.
func handedOn(ctx context.Context, c *redislock.Client, failed func(*redislock.Lock)) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		failed(lock)
	} else {
		defer lock.Release(context.Background())
	}
	return work()
}
