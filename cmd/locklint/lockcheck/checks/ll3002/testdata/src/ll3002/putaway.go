package ll3002

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
)

type reply struct {
	Code int
	Err  error
	Lock *redislock.Lock
}

// Whoever looks at the error later comes too late.

func putAway(ctx context.Context, c *redislock.Client) (resp reply) {
	var l *redislock.Lock
	l, resp.Err = c.Obtain(ctx, "k", time.Minute, nil) // want `LL3002: the error of c.Obtain is ignored: when somebody else holds the lock, the code goes on without it; return or wait`
	defer l.Release(context.WithoutCancel(ctx))
	if err := work(); err != nil {
		resp.Code = 500
	}
	return resp
}

func putAwayForCaller(ctx context.Context, m *redsync.Mutex, resp *reply) {
	resp.Err = m.LockContext(ctx) // want `LL3002: the error of m.LockContext is ignored`
	if err := work(); err != nil {
		resp.Code = 500
	}
	_, _ = m.UnlockContext(context.WithoutCancel(ctx))
}

// Somebody looks, or may.

func putAndLooked(ctx context.Context, c *redislock.Client) (resp reply) {
	var l *redislock.Lock
	l, resp.Err = c.Obtain(ctx, "k", time.Minute, nil)
	if resp.Err != nil {
		return resp
	}
	defer l.Release(context.WithoutCancel(ctx))
	resp.Err = work()
	return resp
}

func (r *reply) failed() bool { return r.Err != nil }

func putAndAsked(ctx context.Context, c *redislock.Client) (resp reply) {
	var l *redislock.Lock
	l, resp.Err = c.Obtain(ctx, "k", time.Minute, nil)
	if resp.failed() {
		return resp
	}
	defer l.Release(context.WithoutCancel(ctx))
	resp.Err = work()
	return resp
}

func putAndHandedOut(ctx context.Context, c *redislock.Client) (resp reply) {
	resp.Lock, resp.Err = c.Obtain(ctx, "k", time.Minute, nil)
	resp.Code = count()
	return resp
}

func count() int { return 1 }

func putAndKept(ctx context.Context, m *redsync.Mutex, resp *reply) {
	resp.Err = m.LockContext(ctx)
	resp.Code = count()
}

// A variable that stays as it is where the acquire fails in another way tells nothing.

func codeOnlyBusy(ctx context.Context, c *redislock.Client) int {
	code := 200
	l, err := c.Obtain(ctx, "k", time.Minute, nil) // want `LL3002: when c.Obtain fails in another way than those that are asked for, the code goes on without the lock: work at line 89 runs either way`
	if errors.Is(err, redislock.ErrNotObtained) {
		code = 409
	}
	if code != 200 {
		return code
	}
	defer l.Release(context.WithoutCancel(ctx))
	_ = work()
	return code
}

func codeAll(ctx context.Context, c *redislock.Client) int {
	code := 200
	l, err := c.Obtain(ctx, "k", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		code = 409
	} else if err != nil {
		code = 500
	}
	if code != 200 {
		return code
	}
	defer l.Release(context.WithoutCancel(ctx))
	_ = work()
	return code
}

// What is named is the work: no context of the release, and no question for what is held.

func background(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

type holding struct{ on bool }

func (h *holding) isHeld() bool { return h.on }

func namesWork(ctx context.Context, m *redsync.Mutex, h *holding) error {
	if err := m.LockContext(ctx); err != nil { // want `LL3002: when m.LockContext fails, the code goes on without the lock: work at line 125 runs either way`
		println(err)
	}
	ctx = background(ctx)
	if h.isHeld() {
		println("held")
	}
	err := work()
	_, _ = m.UnlockContext(background(ctx))
	return err
}

// Nothing of that is work.
func contextOnly(ctx context.Context, m *redsync.Mutex, save func() error) (err error) {
	err = m.LockContext(ctx)
	if err == nil {
		err = save()
	}
	ctx = background(ctx)
	_ = ctx
	return err
}
