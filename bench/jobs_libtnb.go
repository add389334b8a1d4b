package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/libtnb/cron"
	"github.com/redis/go-redis/v9"
)

// libtnbNode is a node of libtnb/cron with a Locker, as its README sets it up. Its own Locker for Redis is in a module that
// the module proxy does not serve; fireLocker does what that one's documentation says.
type libtnbNode struct {
	settled
	cron   *cron.Cron
	client *redis.Client
}

// fireLocker claims the key of each fire for ten minutes, tries once, and keeps the claim when the run is over.
type fireLocker struct {
	sync *redsync.Redsync
	skew time.Duration
}

// Lock implements cron.Locker. The key is "name@" and the scheduled time in ns.
func (l fireLocker) Lock(ctx context.Context, key string) (cron.ReleaseFunc, error) {
	name, text, _ := strings.Cut(key, "@")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the key %q of a fire has no time: %w", key, err)
	}
	key = name + "@" + strconv.FormatInt(at+int64(l.skew), 10)
	var taken *redsync.ErrTaken
	// A claim is kept: its time is over in ten minutes.
	err = l.sync.NewMutex("cron:lock:"+key, redsync.WithExpiry(10*time.Minute), redsync.WithTries(1)).TryLockContext(ctx)
	if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
		return nil, fmt.Errorf("%w: %s", cron.ErrLockHeld, key)
	}
	return func(context.Context) error { return nil }, err
}

// skewedSchedule is how a schedule looks to a machine whose clock is ahead. The library has no clock to set: its times are
// moved instead, on the way in, and in fireLocker on the way out.
type skewedSchedule struct {
	cron.Schedule
	skew time.Duration
}

func (s skewedSchedule) Next(now time.Time) time.Time {
	return s.Schedule.Next(now.Add(s.skew)).Add(-s.skew)
}

func openLibtnbNode(_ context.Context, at address, o jobsOrders, notes *jobNotes) (jobNode, error) {
	n := &libtnbNode{client: at.goRedis()}
	n.cron = cron.New(cron.WithLocation(time.UTC), cron.WithLocker(fireLocker{redsync.New(goredis.NewPool(n.client)), o.Skew}))
	for i := range o.Jobs {
		work := cron.JobFunc(func(ctx context.Context) error { return o.work(ctx, i, notes) })
		schedule := skewedSchedule{cron.AlignedDelay(o.Every), o.Skew}
		if _, err := n.cron.AddSchedule(schedule, work, cron.WithName(fmt.Sprint("job-", i))); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (n *libtnbNode) run(ctx context.Context) error {
	if err := n.cron.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	if err := n.cron.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return n.client.Close()
}
