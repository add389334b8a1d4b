package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Contexts that the program has cancelled itself.

func cancelsFirst(c *redislock.Client) error {
	ctx, cancel := context.WithCancel(context.Background())
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		cancel()
		return err
	}
	cancel()
	return lock.Release(ctx) // want `LL3008: lock.Release is given a context that is over by then`
}

type member struct {
	rdb    *redis.Client
	id     string
	ctx    context.Context
	cancel context.CancelFunc
}

func newMember(rdb *redis.Client, id string) *member {
	ctx, cancel := context.WithCancel(context.Background())
	return &member{rdb: rdb, id: id, ctx: ctx, cancel: cancel}
}

func (m *member) join() bool { return m.rdb.SetNX(m.ctx, "member", m.id, time.Minute).Val() }

func (m *member) leave() {
	m.cancel()
	m.rdb.Eval(m.ctx, compareAndDel, []string{"member"}, m.id) // want `LL3008: m.rdb.Eval is given a context that is over by then`
}

func (m *member) leaveInOrder() {
	m.rdb.Eval(m.ctx, compareAndDel, []string{"member"}, m.id)
	m.cancel()
}

func (m *member) leaveOther(other *member) {
	other.cancel()
	m.rdb.Eval(m.ctx, compareAndDel, []string{"member"}, m.id)
}

func (m *member) again() {
	m.cancel()
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.rdb.Eval(m.ctx, compareAndDel, []string{"member"}, m.id)
}

// A context that is embedded in something larger.
type appContext struct {
	context.Context
	name string
}

func (e *election) step(ctx appContext) bool {
	return e.rdb.SetNX(ctx, "leader", e.id, time.Minute).Val()
}

func (e *election) stepDown(ctx appContext) {
	e.rdb.Eval(ctx, compareAndDel, []string{"leader"}, e.id)
}

func (e *election) runWith(ctx appContext, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			e.stepDown(ctx) // want `LL3008: e.stepDown is given a context that is over by then`
			return
		case <-tick:
			if !e.step(ctx) {
				e.stepDown(ctx)
			}
		}
	}
}

// A variable that is set again after the defer.
func setLater(ctx context.Context, c *redislock.Client, wrap func(context.Context) context.Context) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	ctx = wrap(ctx)
	defer func() { println(ctx.Err()) }()
	return work()
}

func setBefore(ctx context.Context, c *redislock.Client, wrap func(context.Context) context.Context) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	ctx = wrap(ctx)
	defer func() { println(ctx.Err()) }()
	defer lock.Release(ctx)
	return work()
}

// The work and its release stand in a function of their own.
type runner struct{ rdb *redis.Client }

func (r *runner) acquire(ctx context.Context, name string) bool {
	return r.rdb.SetNX(ctx, "lock:run:"+name, name, time.Minute).Val()
}

func (r *runner) release(ctx context.Context, name string) error {
	return r.rdb.Del(ctx, "lock:run:"+name).Err()
}

func (r *runner) runOnce(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if !r.acquire(ctx, name) {
		return
	}
	r.execute(ctx, name)
}

func (r *runner) execute(ctx context.Context, name string) {
	defer func() {
		if err := r.release(ctx, name); err != nil { // want `LL3008: r.release is given a context with a deadline`
			println(err)
		}
	}()
	work()
}

// Keys that nobody can follow.
func (r *runner) unfollowed(key func() string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if !r.acquire(ctx, key()) {
		return
	}
	defer r.release(ctx, key()) // want `LL3008: r.release is given a context with a deadline`
	work()
}
