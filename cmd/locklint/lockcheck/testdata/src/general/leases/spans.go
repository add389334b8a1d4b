package leases

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// A span runs beside the lock.

type Span interface {
	End()
	SetStatus(text string)
}

type Tracer interface {
	Start(ctx context.Context, name string) (context.Context, Span)
}

type worker struct {
	tracer Tracer
	locker *redislock.Client
}

// What defers something hands out the lock like others.
func (w worker) lock(ctx context.Context, key string) (*redislock.Lock, error) {
	ctx, span := w.tracer.Start(ctx, "lock")
	defer span.End()
	lock, err := w.locker.Obtain(ctx, key, time.Second, nil)
	if err != nil {
		span.SetStatus(err.Error())
	}
	return lock, err
}

func (w worker) named(ctx context.Context, id string) (err error) {
	lock, err := w.lock(ctx, "job:"+id)
	if err != nil {
		return
	}
	defer func() {
		_ = lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	}()
	return work()
}

func (w worker) logged(ctx context.Context, id string) error {
	lock, err := w.lock(ctx, "job:"+id) // want `LL3002: when w.lock fails, the code goes on`
	if err != nil {
		println(err.Error())
	}
	defer lock.Release(context.WithoutCancel(ctx)) // want `LL3005`
	return work()
}

func (w worker) left(ctx context.Context, id string) error {
	lock, err := w.lock(ctx, "job:"+id) // want `LL3003`
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return lock.Release(context.WithoutCancel(ctx))
}

// The context of a span ends with the one that it is made of.
func (w worker) spanned(ctx context.Context, id string) (err error) {
	ctx, span := w.tracer.Start(ctx, "spanned")
	defer func() {
		if err != nil {
			span.SetStatus(err.Error())
		}
		span.End()
	}()
	lock, err := w.locker.Obtain(ctx, "job:"+id, time.Second, nil)
	if err != nil {
		return
	}
	defer func() {
		_ = lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	}()
	return work()
}

// Fine: a span of its own.
func (w worker) detached(ctx context.Context, id string) error {
	lock, err := w.locker.Obtain(ctx, "job:"+id, time.Second, nil)
	if err != nil {
		return err
	}
	own, span := w.tracer.Start(context.Background(), "release")
	defer span.End()
	defer lock.Release(own)
	return work()
}

// One case of the loop asks for the state, another takes the lock: what is asked in between is no work under it. That
// nobody releases it is another matter.

type leader struct{ locker *redislock.Client }

func (l *leader) state() int                         { return 0 }
func (l *leader) become(ctx context.Context, to int) {}

func (l *leader) run(ctx context.Context) error {
	var lock *redislock.Lock
	refresh, acquire := time.NewTicker(time.Second), time.NewTicker(time.Second)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-refresh.C:
			if l.state() == 1 {
				if err := lock.Refresh(ctx, time.Second, nil); err != nil {
					l.become(ctx, 0)
				}
			}
		case <-acquire.C:
			if l.state() == 1 {
				continue
			}
			var err error
			lock, err = l.locker.Obtain(ctx, "leader", time.Second, nil) // want `LL3003`
			if err != nil {
				if l.state() != 2 {
					l.become(ctx, 2)
				}
				continue
			}
			l.become(ctx, 1)
		}
	}
}

// The loop tries and then works either way.
func (l *leader) each(ctx context.Context) {
	for {
		lock, err := l.locker.Obtain(ctx, "each", time.Second, nil) // want `LL3002: when l.locker.Obtain fails, the code goes on`
		if err != nil {
			println(err.Error())
		}
		_ = work()
		_ = lock.Release(context.Background()) // want `LL3005`
	}
}
