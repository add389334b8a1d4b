package made

import (
	"context"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Objects of the program's own that are made where they are locked.

func work() error { return nil }

type boxed struct {
	m    *redsync.Mutex
	name string
}

func (b *boxed) Lock(ctx context.Context) error   { return b.m.LockContext(ctx) }
func (b *boxed) Unlock(ctx context.Context) error { _, err := b.m.UnlockContext(ctx); return err }

func (b *boxed) start(ctx context.Context) {
	go func() { _ = b.Unlock(ctx) }()
}

func (b *boxed) finish(ctx context.Context) { _ = b.Unlock(ctx) }

type plain struct{ m *redsync.Mutex }

func (p plain) Lock(ctx context.Context) error   { return p.m.LockContext(ctx) }
func (p plain) Unlock(ctx context.Context) error { _, err := p.m.UnlockContext(ctx); return err }

func newPlain(rs *redsync.Redsync) plain { return plain{rs.NewMutex("x")} }

type lockable interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// lazy makes its mutex when it is locked.
type lazy struct {
	rs  *redsync.Redsync
	key string
	m   *redsync.Mutex
}

func (l *lazy) Lock(ctx context.Context) error {
	l.m = l.rs.NewMutex(l.key)
	return l.m.LockContext(ctx)
}

func (l *lazy) Unlock(ctx context.Context) error { _, err := l.m.UnlockContext(ctx); return err }

// keeping has a lock once it is locked.
type keeping struct {
	c    *redislock.Client
	lock *redislock.Lock
}

func newKeeping(c *redislock.Client) *keeping { return &keeping{c: c} }

func (k *keeping) Lock(ctx context.Context) error {
	lock, err := k.c.Obtain(ctx, "x", time.Minute, nil)
	if err != nil {
		return err
	}
	k.lock = lock
	return nil
}

func (k *keeping) Unlock(ctx context.Context) error { return k.lock.Release(ctx) }

func literalPointer(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalPointerCaptured(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	done := false
	defer func() {
		if done {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if err := work(); err != nil {
		return err
	}
	done = true
	return nil
}

func literalPointerRounds(ctx context.Context, rs *redsync.Redsync) error {
	for range 3 {
		l := &boxed{m: rs.NewMutex("x")}
		if err := l.Lock(ctx); err != nil {
			return err
		}
		err := work()
		l.Unlock(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
	}
	return nil
}

func literalPointerRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := &boxed{m: rs.NewMutex("x")}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalPointerHandedOn(ctx context.Context, rs *redsync.Redsync) (func(context.Context) error, error) {
	l := &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

func literalPositional(ctx context.Context, rs *redsync.Redsync) error {
	l := &boxed{rs.NewMutex("x"), "x"}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalPositionalRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := &boxed{rs.NewMutex("x"), "x"}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalStruct(ctx context.Context, rs *redsync.Redsync) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalStructCaptured(ctx context.Context, rs *redsync.Redsync) error {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	done := false
	defer func() {
		if done {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if err := work(); err != nil {
		return err
	}
	done = true
	return nil
}

func literalStructRounds(ctx context.Context, rs *redsync.Redsync) error {
	for range 3 {
		l := boxed{m: rs.NewMutex("x")}
		if err := l.Lock(ctx); err != nil {
			return err
		}
		err := work()
		l.Unlock(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
	}
	return nil
}

func literalStructRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := boxed{m: rs.NewMutex("x")}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalStructHandedOn(ctx context.Context, rs *redsync.Redsync) (func(context.Context) error, error) {
	l := boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

func literalNew(ctx context.Context, rs *redsync.Redsync) error {
	l := new(boxed)
	l.m = rs.NewMutex("x")
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalNewRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := new(boxed)
	l.m = rs.NewMutex("x")
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalVariable(ctx context.Context, rs *redsync.Redsync) error {
	var l boxed
	l.m = rs.NewMutex("x")
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalVariableRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	var l boxed
	l.m = rs.NewMutex("x")
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalByValue(ctx context.Context, rs *redsync.Redsync) error {
	l := plain{rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalByValueCaptured(ctx context.Context, rs *redsync.Redsync) error {
	l := plain{rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	done := false
	defer func() {
		if done {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if err := work(); err != nil {
		return err
	}
	done = true
	return nil
}

func literalByValueRounds(ctx context.Context, rs *redsync.Redsync) error {
	for range 3 {
		l := plain{rs.NewMutex("x")}
		if err := l.Lock(ctx); err != nil {
			return err
		}
		err := work()
		l.Unlock(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
	}
	return nil
}

func literalByValueRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := plain{rs.NewMutex("x")}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalByValueHandedOn(ctx context.Context, rs *redsync.Redsync) (func(context.Context) error, error) {
	l := plain{rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

func literalMade(ctx context.Context, rs *redsync.Redsync) error {
	l := newPlain(rs)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalMadeRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := newPlain(rs)
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalBehind(ctx context.Context, rs *redsync.Redsync) error {
	var l lockable = &boxed{m: rs.NewMutex("x")}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalBehindRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	var l lockable = &boxed{m: rs.NewMutex("x")}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalLazy(ctx context.Context, rs *redsync.Redsync) error {
	l := &lazy{rs: rs, key: "x"}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalLazyRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	l := &lazy{rs: rs, key: "x"}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalKept(ctx context.Context, c *redislock.Client) error {
	l := &keeping{c: c}
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalKeptRight(ctx context.Context, c *redislock.Client, t *testing.T) error {
	l := &keeping{c: c}
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalKeptMade(ctx context.Context, c *redislock.Client) error {
	l := newKeeping(c)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalKeptMadeCaptured(ctx context.Context, c *redislock.Client) error {
	l := newKeeping(c)
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	done := false
	defer func() {
		if done {
			l.Unlock(context.WithoutCancel(ctx))
		}
	}()
	if err := work(); err != nil {
		return err
	}
	done = true
	return nil
}

func literalKeptMadeRounds(ctx context.Context, c *redislock.Client) error {
	for range 3 {
		l := newKeeping(c)
		if err := l.Lock(ctx); err != nil {
			return err
		}
		err := work()
		l.Unlock(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
	}
	return nil
}

func literalKeptMadeRight(ctx context.Context, c *redislock.Client, t *testing.T) error {
	l := newKeeping(c)
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}

func literalKeptMadeHandedOn(ctx context.Context, c *redislock.Client) (func(context.Context) error, error) {
	l := newKeeping(c)
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return l.Unlock, nil
}

func literalHeld(ctx context.Context, rs *redsync.Redsync) error {
	o := struct{ l *boxed }{&boxed{m: rs.NewMutex("x")}}
	l := o.l
	if err := l.Lock(ctx); err != nil { // want `LL3003: the lock from .*Lock is not released on every path`
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return l.Unlock(context.WithoutCancel(ctx))
}

func literalHeldRight(ctx context.Context, rs *redsync.Redsync, t *testing.T) error {
	o := struct{ l *boxed }{&boxed{m: rs.NewMutex("x")}}
	l := o.l
	unlock := func() error { return l.Unlock(context.WithoutCancel(ctx)) }
	if err := l.Lock(ctx); err != nil {
		return err
	}
	if t != nil {
		t.Cleanup(func() { l.Unlock(context.WithoutCancel(ctx)) })
		return nil
	}
	if err := work(); err != nil {
		_ = unlock()
		return err
	}
	return unlock()
}
