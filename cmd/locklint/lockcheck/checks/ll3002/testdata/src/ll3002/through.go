package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
)

// Wrappers that hand on the errors of the library.

type tills struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (t *tills) Obtain(ctx context.Context, key string) error {
	lock, err := t.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return err
	}
	t.lock = lock
	return nil
}

func (t *tills) Release(ctx context.Context) error { return t.lock.Release(ctx) }

func sell(ctx context.Context, t *tills, pay func() error) error {
	err := t.Obtain(ctx, "till") // want `LL3002: when t.Obtain fails in another way than those that are asked for, the code goes on without the lock: pay at line`
	if errors.Is(err, redislock.ErrNotObtained) {
		return err
	}
	defer t.Release(context.WithoutCancel(ctx))
	return pay()
}

func sellSafely(ctx context.Context, t *tills, pay func() error) error {
	err := t.Obtain(ctx, "till")
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Release(context.WithoutCancel(ctx))
	return pay()
}

// One that has a single error of its own.

var errTaken = errors.New("taken")

type strict struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (s *strict) Obtain(ctx context.Context, key string) error {
	lock, err := s.c.Obtain(ctx, key, time.Minute, nil)
	if err != nil {
		return errTaken
	}
	s.lock = lock
	return nil
}

func (s *strict) Release(ctx context.Context) error { return s.lock.Release(ctx) }

func sellStrictly(ctx context.Context, s *strict, pay func() error) error {
	err := s.Obtain(ctx, "till")
	if errors.Is(err, errTaken) {
		return err
	}
	defer s.Release(context.WithoutCancel(ctx))
	return pay()
}

// One that says only whether it has the lock.

type quick struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (q *quick) TryLock(ctx context.Context) bool {
	lock, err := q.c.Obtain(ctx, "quick", time.Minute, nil)
	if err != nil {
		return false
	}
	q.lock = lock
	return true
}

func (q *quick) Unlock(ctx context.Context) { _ = q.lock.Release(ctx) }

func sellQuickly(ctx context.Context, q *quick, pay func() error) error {
	q.TryLock(ctx) // want `LL3002: the outcome of q.TryLock is ignored`
	defer q.Unlock(context.WithoutCancel(ctx))
	return pay()
}
