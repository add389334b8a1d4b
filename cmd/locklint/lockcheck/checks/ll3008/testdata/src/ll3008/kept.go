package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// Objects that are made for a request, and keep its context.

type payLogic struct {
	ctx context.Context
	rdb *redis.Redis
}

func newPayLogic(ctx context.Context, rdb *redis.Redis) *payLogic {
	return &payLogic{ctx: ctx, rdb: rdb}
}

func (l *payLogic) pay() error {
	lock := redis.NewRedisLock(l.rdb, "pay")
	ok, err := lock.AcquireCtx(l.ctx)
	if err != nil || !ok {
		return err
	}
	defer func() {
		_, _ = lock.ReleaseCtx(l.ctx) // want `LL3008: lock.ReleaseCtx is given the context that its object was made with`
	}()
	return work()
}

func (l *payLogic) payDetached() error {
	lock := redis.NewRedisLock(l.rdb, "pay")
	ok, err := lock.AcquireCtx(l.ctx)
	if err != nil || !ok {
		return err
	}
	defer lock.ReleaseCtx(context.WithoutCancel(l.ctx))
	return work()
}

// Its own context is nobody else's.
type worker struct{ ctx context.Context }

func newWorker() *worker { return &worker{ctx: context.Background()} }

func newWorkerOf(ctx context.Context) *worker { return &worker{ctx: ctx} }

func (w *worker) work(c *redislock.Client) error {
	lock, err := c.Obtain(w.ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(w.ctx)
	return work()
}

// A context that is set when the work begins may be any.
type session struct{ ctx context.Context }

func newSession(ctx context.Context) *session { return &session{ctx: ctx} }

func (s *session) run(ctx context.Context, c *redislock.Client) error {
	s.ctx = ctx
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(s.ctx)
	return work()
}
