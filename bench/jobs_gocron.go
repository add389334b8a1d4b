package main

import (
	"context"
	"fmt"
	"time"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// gocronNode is a node of gocron with its locker for Redis, both as the README of gocron-redis-lock sets them up.
type gocronNode struct {
	settled
	scheduler gocron.Scheduler
	client    *redis.Client
}

// skewedClock is a machine's clock that is ahead.
type skewedClock struct {
	clockwork.Clock
	skew time.Duration
}

func (c skewedClock) Now() time.Time                  { return c.Clock.Now().Add(c.skew) }
func (c skewedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c skewedClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func openGocronNode(_ context.Context, at address, o jobsOrders, notes *jobNotes) (jobNode, error) {
	n := &gocronNode{client: at.goRedis()}
	locker, err := redislock.NewRedisLocker(n.client, redislock.WithTries(1))
	if err != nil {
		return nil, err
	}
	clock := skewedClock{clockwork.NewRealClock(), o.Skew}
	n.scheduler, err = gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithClock(clock), gocron.WithLocation(time.UTC))
	if err != nil {
		return nil, err
	}
	for i := range o.Jobs {
		work := gocron.NewTask(func(ctx context.Context) error { return o.work(ctx, i, notes) })
		if _, err := n.scheduler.NewJob(gocron.CronJob(o.spec(), true), work, gocron.WithName(fmt.Sprint("job-", i))); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *gocronNode) run(ctx context.Context) error {
	n.scheduler.Start()
	<-ctx.Done()
	if err := n.scheduler.Shutdown(); err != nil {
		return err
	}
	return n.client.Close()
}
