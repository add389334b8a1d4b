package ll3005

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// A method that looks whether there is a lock at all may be called on nil.

type nilHeld struct{ lock *redislock.Lock }

func obtainHeld(ctx context.Context, c *redislock.Client) (*nilHeld, error) {
	lock, err := c.Obtain(ctx, "held", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &nilHeld{lock}, nil
}

func (h *nilHeld) Release(ctx context.Context) error {
	if h == nil {
		return nil
	}
	return h.lock.Release(ctx)
}

func useHeld(ctx context.Context, c *redislock.Client, work func() error) error {
	h, err := obtainHeld(ctx, c)
	defer h.Release(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	return work()
}

// It does not say that a lock that is there has been taken.

type nilMutex struct{ m *redsync.Mutex }

func newMutex(rs *redsync.Redsync) *nilMutex { return &nilMutex{rs.NewMutex("a")} }

func (l *nilMutex) Lock(ctx context.Context) error { return l.m.LockContext(ctx) }

func (l *nilMutex) Unlock() error {
	if l == nil {
		return errors.New("no lock")
	}
	_, err := l.m.UnlockContext(context.Background())
	return err
}

func useMutex(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := newMutex(rs)
	defer l.Unlock() // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed: it deletes with an old or empty token`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

// One that does not look.

type nilBare struct{ lock *redislock.Lock }

func obtainBare(ctx context.Context, c *redislock.Client) (*nilBare, error) {
	lock, err := c.Obtain(ctx, "bare", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &nilBare{lock}, nil
}

func (b *nilBare) Release(ctx context.Context) error { return b.lock.Release(ctx) }

func useBare(ctx context.Context, c *redislock.Client, work func() error) error {
	b, err := obtainBare(ctx, c)
	defer b.Release(context.WithoutCancel(ctx)) // want `LL3005: b.Release runs also when obtainBare at line \d+ has failed: there is no lock then, and its receiver may be nil`
	if err != nil {
		return err
	}
	return work()
}

// halfSafe looks at its field, but there is no field where it is nil itself.
type halfSafe struct{ l *redislock.Lock }

func (h *halfSafe) Release(ctx context.Context) error {
	if h.l == nil {
		return nil
	}
	return h.l.Release(ctx)
}

func openHalfSafe(ctx context.Context, c *redislock.Client) (*halfSafe, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &halfSafe{l}, nil
}

func beforeCheckOfHalf(ctx context.Context, c *redislock.Client) error {
	h, err := openHalfSafe(ctx, c)
	defer h.Release(ctx) // want `LL3005: h.Release runs also when openHalfSafe at line 108 has failed: there is no lock then, and its receiver may be nil`
	if err != nil {
		return err
	}
	return work()
}

// valueSafe is never nil, and its field says that there is no lock.
type valueSafe struct{ l *redislock.Lock }

func (v valueSafe) Release(ctx context.Context) error {
	if v.l == nil {
		return nil
	}
	return v.l.Release(ctx)
}

func openValueSafe(ctx context.Context, c *redislock.Client) (valueSafe, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return valueSafe{}, err
	}
	return valueSafe{l}, nil
}

func beforeCheckOfValue(ctx context.Context, c *redislock.Client) error {
	v, err := openValueSafe(ctx, c)
	defer v.Release(ctx)
	if err != nil {
		return err
	}
	return work()
}

// bothSafe looks at both.
type bothSafe struct{ l *redislock.Lock }

func (b *bothSafe) Release(ctx context.Context) error {
	if b == nil || b.l == nil {
		return nil
	}
	return b.l.Release(ctx)
}

func openBothSafe(ctx context.Context, c *redislock.Client) (*bothSafe, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &bothSafe{l}, nil
}

func beforeCheckOfBoth(ctx context.Context, c *redislock.Client) error {
	b, err := openBothSafe(ctx, c)
	defer b.Release(ctx)
	if err != nil {
		return err
	}
	return work()
}

// onceSafe does so in a method with a literal.
type onceSafe struct {
	l    *redislock.Lock
	once sync.Once
	err  error
}

func (o *onceSafe) Release(ctx context.Context) error {
	if o == nil || o.l == nil {
		return nil
	}
	o.once.Do(func() { o.err = o.l.Release(ctx) })
	return o.err
}

func openOnceSafe(ctx context.Context, c *redislock.Client) (*onceSafe, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return &onceSafe{l: l}, nil
}

func beforeCheckOfOnce(ctx context.Context, c *redislock.Client) (err error) {
	o, err := openOnceSafe(ctx, c)
	defer func() { err = errors.Join(err, o.Release(ctx)) }()
	if err != nil {
		return err
	}
	return work()
}

// openAlways returns an object also where there is no lock.
func openAlways(ctx context.Context, c *redislock.Client) (*halfSafe, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	return &halfSafe{l}, err
}

func beforeCheckOfAlways(ctx context.Context, c *redislock.Client) error {
	h, err := openAlways(ctx, c)
	defer h.Release(ctx)
	if err != nil {
		return err
	}
	return work()
}
