package passedon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"

	"ll3005/passedon/kept"
)

// Releases that test what there is to release do so, too, for those who call them.

func closedElsewhere(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &kept.Tests{C: c}
	defer l.Close()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func closedElsewhereBlind(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &kept.Blind{C: c}
	defer l.Close() // want `LL3005: l.Close runs also when l.Lock at line \d+ has failed`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type tests struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (k *tests) Lock(ctx context.Context) (err error) {
	k.lock, err = k.c.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *tests) release(ctx context.Context) error {
	if k.lock != nil {
		return k.lock.Release(ctx)
	}
	return nil
}

func (k *tests) Unlock(ctx context.Context) error { return k.release(ctx) }

func (k *tests) Close() error { return k.Unlock(context.Background()) }

func stop(ctx context.Context, k *tests) { _ = k.Unlock(ctx) }

func private(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &tests{c: c}
	defer l.Unlock(context.WithoutCancel(ctx))
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func privateTwice(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &tests{c: c}
	defer l.Close()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func handed(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &tests{c: c}
	defer stop(context.WithoutCancel(ctx), l)
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func givenIt(ctx context.Context, l *tests, work func() error) error {
	defer l.Close()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func stopBoth(ctx context.Context, m *redsync.Mutex, k *tests) {
	_, _ = m.UnlockContext(ctx)
	_ = k.Unlock(ctx)
}

func handedBeside(ctx context.Context, c *redislock.Client, rs *redsync.Redsync, work func() error) error {
	l, m := &tests{c: c}, rs.NewMutex("x")
	defer stopBoth(context.WithoutCancel(ctx), m, l) // want `LL3005: stopBoth runs also when m.LockContext at line \d+ has failed`
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	return work()
}

type blind struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (k *blind) Lock(ctx context.Context) (err error) {
	k.lock, err = k.c.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *blind) release(ctx context.Context) error { return k.lock.Release(ctx) }

func (k *blind) Unlock(ctx context.Context) error { return k.release(ctx) }

func stopBlind(ctx context.Context, k *blind) { _ = k.Unlock(ctx) }

func privateBlind(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &blind{c: c}
	defer l.Unlock(context.WithoutCancel(ctx)) // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

func handedBlind(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &blind{c: c}
	defer stopBlind(context.WithoutCancel(ctx), l) // want `LL3005: stopBlind runs also when l.Lock at line \d+ has failed`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

// A flag does as well as the lock.

type flagged struct {
	m  *redsync.Mutex
	on bool
}

func (f *flagged) Lock(ctx context.Context) error {
	if err := f.m.LockContext(ctx); err != nil {
		return err
	}
	f.on = true
	return nil
}

func (f *flagged) Unlock(ctx context.Context) {
	if !f.on {
		return
	}
	f.on = false
	_, _ = f.m.UnlockContext(ctx)
}

func (f *flagged) Close() { f.Unlock(context.Background()) }

func closedFlagged(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := &flagged{m: rs.NewMutex("x")}
	defer l.Close()
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

// So does a method that tells.

type telling struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (k *telling) Lock(ctx context.Context) (err error) {
	k.lock, err = k.c.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *telling) Held() bool { return k != nil && k.lock != nil }

func (k *telling) Unlock(ctx context.Context) error {
	if !k.Held() {
		return nil
	}
	return k.lock.Release(ctx)
}

func toldFirst(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &telling{c: c}
	defer l.Unlock(context.WithoutCancel(ctx))
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

type tellingFlag struct {
	m    *redsync.Mutex
	held atomic.Bool
}

func (k *tellingFlag) Lock(ctx context.Context) error {
	err := k.m.LockContext(ctx)
	k.held.Store(err == nil)
	return err
}

func (k *tellingFlag) Held() bool { return k.held.Load() }

func (k *tellingFlag) Unlock(ctx context.Context) {
	if k.Held() {
		_, _ = k.m.UnlockContext(ctx)
	}
}

func toldByFlagFirst(ctx context.Context, rs *redsync.Redsync, work func() error) error {
	l := &tellingFlag{m: rs.NewMutex("x")}
	defer l.Unlock(context.WithoutCancel(ctx))
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}

var enabled atomic.Bool

type tellingOther struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func (k *tellingOther) Lock(ctx context.Context) (err error) {
	k.lock, err = k.c.Obtain(ctx, "x", time.Minute, nil)
	return err
}

func (k *tellingOther) enabled() bool { return enabled.Load() }

func (k *tellingOther) Unlock(ctx context.Context) error {
	if !k.enabled() {
		return nil
	}
	return k.lock.Release(ctx)
}

func toldOtherFirst(ctx context.Context, c *redislock.Client, work func() error) error {
	l := &tellingOther{c: c}
	defer l.Unlock(context.WithoutCancel(ctx)) // want `LL3005: l.Unlock runs also when l.Lock at line \d+ has failed`
	if err := l.Lock(ctx); err != nil {
		return err
	}
	return work()
}
