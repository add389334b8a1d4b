package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

// Who is told whether there is a lock, by an object or by itself, need do no work without it.

func saysIfLocked(ctx context.Context, c *redislock.Client, serve func(ctx context.Context, write bool) error) error {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
		return err
	}
	if l != nil {
		defer l.Release(ctx)
	}
	return serve(ctx, l != nil)
}

func saysIfCaptured(ctx context.Context, c *redislock.Client, serve func(readonly bool) error) error {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
		return err
	}
	defer func() {
		if l != nil {
			l.Release(ctx)
		}
	}()
	return serve(l == nil)
}

// The mutex is there, locked or not.
func saysIfMutex(m *redsync.Mutex, serve func(write bool) error) error {
	if err := m.Lock(); err == nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: serve at line 43 runs either way`
		defer m.Unlock()
	}
	return serve(m != nil)
}

type options struct {
	write bool
	name  string
}

func fieldSet(ctx context.Context, c *redislock.Client, serve func(options) error) error {
	var o options
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	switch {
	case err == nil:
		o.write = true
		defer l.Release(ctx)
	case !errors.Is(err, redislock.ErrNotObtained):
		return err
	}
	return serve(o)
}

func fieldByPointer(m *redsync.Mutex, serve func(*options) error) error {
	o := &options{write: true}
	if err := m.Lock(); err != nil {
		o.write = false
	} else {
		defer m.Unlock()
	}
	return serve(o)
}

func (o *options) serve() error { return work() }

func (o *options) fieldOfReceiver(m *redsync.Mutex) error {
	if err := m.Lock(); err != nil {
		o.write = false
	} else {
		defer m.Unlock()
	}
	return o.serve()
}

// The field is the same on both ways.
func (o *options) sameField(m *redsync.Mutex) error {
	o.write = true
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: o.serve at line 93 runs either way`
		println(err)
	} else {
		defer m.Unlock()
	}
	return o.serve()
}

// What is read with the lock tells nobody that it has not been.
func (o *options) readsField(m *redsync.Mutex, load func() string) error {
	if err := m.Lock(); err == nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: o.serve at line 102 runs either way`
		defer m.Unlock()
		o.name = load()
	}
	return o.serve()
}

type numbered struct{ failed int }

func (c *numbered) serve() error { return work() }

// Nor does a counter.
func (c *numbered) counts(m *redsync.Mutex) error {
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: c.serve at line 116 runs either way`
		c.failed++
	} else {
		defer m.Unlock()
	}
	return c.serve()
}

// Another object knows nothing of it.
func otherObject(m *redsync.Mutex, o, p *options) error {
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: p.serve at line 126 runs either way`
		o.write = false
	} else {
		defer m.Unlock()
	}
	return p.serve()
}

type putter interface {
	Put(ctx context.Context) error
}

func otherReceiver(ctx context.Context, c *redislock.Client, direct, queue putter) error {
	p := queue
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err == nil {
		defer l.Release(ctx)
		p = direct
	}
	return p.Put(ctx)
}

func sameReceiver(ctx context.Context, c *redislock.Client, direct putter) error {
	var p putter
	l, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails, the code goes on without the lock: p.Put at line 152 runs either way`
	if err == nil {
		defer l.Release(ctx)
		p = direct
	} else {
		p = direct
	}
	return p.Put(ctx)
}

func otherFunction(m *redsync.Mutex) error {
	next := func() error { return work() }
	if err := m.Lock(); err != nil {
		next = func() error { return err }
	} else {
		defer m.Unlock()
	}
	return next()
}

func sameFunction(m *redsync.Mutex, next func() error) error {
	if err := m.Lock(); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock: next at line 171 runs either way`
		println(err)
	} else {
		defer m.Unlock()
	}
	return next()
}
