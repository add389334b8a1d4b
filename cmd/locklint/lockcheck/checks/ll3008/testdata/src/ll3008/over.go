package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Releases with a context that is over by then.

const compareAndDel = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type election struct {
	rdb *redis.Client
	id  string
}

func (e *election) campaign(ctx context.Context) bool {
	return e.rdb.SetNX(ctx, "leader", e.id, time.Minute).Val()
}

func (e *election) resign(ctx context.Context) {
	e.rdb.Eval(ctx, compareAndDel, []string{"leader"}, e.id)
}

func (e *election) run(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			e.resign(ctx) // want `LL3008: e.resign is given a context that is over by then: the release fails every time`
			return
		case <-tick:
			if !e.campaign(ctx) {
				e.resign(ctx)
			}
		}
	}
}

func (e *election) runDetached(ctx context.Context) {
	<-ctx.Done()
	e.resign(context.WithoutCancel(ctx))
}

func (e *election) runOther(ctx, stop context.Context) {
	<-stop.Done()
	e.resign(ctx)
}

func (e *election) wait(ctx context.Context) {
	<-ctx.Done()
	e.resign(ctx) // want `LL3008: e.resign is given a context that is over by then`
}

func (e *election) look(ctx context.Context) {
	if ctx.Err() != nil {
		e.resign(ctx) // want `LL3008: e.resign is given a context that is over by then`
		return
	}
	e.resign(ctx)
}

func watched(ctx context.Context, locker *redislock.Client, lost <-chan struct{}) error {
	lock, err := locker.Obtain(ctx, "watched", time.Minute, nil)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return lock.Release(ctx) // want `LL3008: lock.Release is given a context that is over by then`
	case <-lost:
	}
	return lock.Release(context.WithoutCancel(ctx))
}
