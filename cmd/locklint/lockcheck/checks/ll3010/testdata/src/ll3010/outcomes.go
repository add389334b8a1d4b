package ll3010

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"
)

// Variables of any type may keep whether there is a lock.

func countsTries(ctx context.Context, s *concurrency.Session, work func() error) error {
	m := concurrency.NewMutex(s, "/stock")
	tries := 5
	for tries > 0 {
		if m.TryLock(ctx) == nil {
			break
		}
		tries--
		time.Sleep(time.Second)
	}
	if tries == 0 {
		return errors.New("taken")
	}
	defer m.Unlock(ctx)
	return work()
}

func counted(ctx context.Context, s *concurrency.Session, work func() error) error {
	m := concurrency.NewMutex(s, "/stock")
	failures := 0
	if m.TryLock(ctx) != nil { // want `LL3010: when m.TryLock fails, the code goes on without the lock: work at line \d+ runs either way`
		failures++
	}
	if failures > 1 {
		return errors.New("taken")
	}
	return work()
}
