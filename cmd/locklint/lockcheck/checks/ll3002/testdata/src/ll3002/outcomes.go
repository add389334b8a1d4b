package ll3002

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Variables of any type may keep whether there is a lock.

func countsTries(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	var err error
	i := 0
	for ; i < 3; i++ {
		if err = m.LockContext(ctx); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if i == 3 && err != nil {
		return err
	}
	defer m.UnlockContext(ctx)
	return work()
}

func countsDown(ctx context.Context, rs *redsync.Redsync, tries int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for ; tries > 0; tries-- {
		if err := m.LockContext(ctx); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if tries == 0 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func exitCode(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	code := 0
	err := m.LockContext(ctx)
	if err != nil {
		code = 1
	}
	if code == 1 {
		return err
	}
	defer m.UnlockContext(ctx)
	return work()
}

func index(ctx context.Context, rs *redsync.Redsync, names []string) error {
	ms := make([]*redsync.Mutex, len(names))
	idx := -1
	for i, n := range names {
		ms[i] = rs.NewMutex(n, redsync.WithTries(1))
		if ms[i].LockContext(ctx) == nil {
			idx = i
			break
		}
	}
	if idx < 0 {
		return errTaken
	}
	defer ms[idx].UnlockContext(ctx)
	return work()
}

func named(ctx context.Context, c *redislock.Client, names []string) error {
	var l *redislock.Lock
	var name string
	for _, n := range names {
		got, err := c.Obtain(ctx, n, time.Minute, nil)
		if err == nil {
			l, name = got, n
			break
		}
	}
	if name == "" {
		return errTaken
	}
	defer l.Release(ctx)
	return work()
}

func triesWhileTaken(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for retry := true; retry; {
		err := m.LockContext(ctx)
		retry = errors.Is(err, errTaken)
		if retry {
			time.Sleep(time.Second)
		} else if err != nil {
			return err
		}
	}
	defer m.UnlockContext(ctx)
	return work()
}

func lastRound(ctx context.Context, rs *redsync.Redsync, tries int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for i := 0; i < tries; i++ {
		err := m.LockContext(ctx)
		if err == nil {
			break
		}
		if i == tries-1 {
			return err
		}
		time.Sleep(time.Second)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func lastNumber(ctx context.Context, rs *redsync.Redsync, most int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for i := 1; i <= most; i++ {
		err := m.LockContext(ctx)
		if err == nil {
			break
		}
		if i >= most {
			return err
		}
		time.Sleep(time.Second)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func lastOfRange(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for i := range 5 {
		err := m.LockContext(ctx)
		if err == nil {
			break
		}
		if i == 4 {
			return err
		}
		time.Sleep(time.Second)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func lastDown(ctx context.Context, rs *redsync.Redsync, tries int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for i := tries; i > 0; i-- {
		err := m.LockContext(ctx)
		if err == nil {
			break
		}
		if i == 1 {
			return err
		}
		time.Sleep(time.Second)
	}
	defer m.UnlockContext(ctx)
	return work()
}

// Who only counts or notes the failure goes on without the lock.

func counted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	failures := 0
	if err := m.LockContext(ctx); err != nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock: work at line \d+ runs either way`
		failures++
	}
	log.Print(failures)
	return work()
}

func wrongCode(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	code := 0
	if err := m.LockContext(ctx); err != nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock`
		code = 1
	}
	if code == 2 {
		return errTaken
	}
	return work()
}

func otherCount(ctx context.Context, rs *redsync.Redsync, n int) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock`
		log.Print(err)
	}
	if n > 3 {
		return errTaken
	}
	return work()
}

func pastTheEnd(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	tries := 0
	for tries < 5 {
		if m.LockContext(ctx) == nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock`
			break
		}
		tries++
		time.Sleep(time.Second)
	}
	if tries > 5 {
		return errTaken
	}
	defer m.UnlockContext(ctx)
	return work()
}

func notTheLast(ctx context.Context, rs *redsync.Redsync, tries int) error {
	m := rs.NewMutex("k", redsync.WithTries(1))
	for i := 0; i < tries; i++ {
		err := m.LockContext(ctx) // want `LL3002: when m.LockContext fails, the code goes on without the lock`
		if err == nil {
			break
		}
		if i == tries-2 {
			return err
		}
		time.Sleep(time.Second)
	}
	defer m.UnlockContext(ctx)
	return work()
}

func noted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	message := ""
	if err := m.LockContext(ctx); err != nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock`
		message = err.Error()
	}
	if message != "" {
		log.Print(message)
	}
	return work()
}
