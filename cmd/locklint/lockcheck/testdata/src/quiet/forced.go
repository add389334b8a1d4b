package quiet

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// A forced release, through an interface and one more call.

type forcible interface {
	Lock(ctx context.Context, id string) (bool, error)
	UnlockForce(ctx context.Context, id string) error
}

type orders struct{ rdb *redis.Client }

func (o *orders) Lock(ctx context.Context, id string) (bool, error) {
	return o.rdb.SetNX(ctx, "lock:order:"+id, newToken(), time.Minute).Result()
}

func newToken() string { return time.Now().String() }

func (o *orders) UnlockForce(ctx context.Context, id string) error {
	return o.remove(ctx, "lock:order:"+id)
}

func (o *orders) remove(ctx context.Context, key string) error { return o.rdb.Del(ctx, key).Err() }

func supportDesk(ctx context.Context, locks forcible, id string) error {
	return locks.UnlockForce(ctx, id)
}

func deskThenWork(ctx context.Context, locks forcible, id string) error {
	if ok, err := locks.Lock(ctx, id); err != nil || !ok {
		return err
	}
	if err := supportDesk(ctx, locks, id); err != nil {
		return err
	}
	return work()
}

// A claim that ends by itself: nobody ever releases it.

func claim(rs *redsync.Redsync) error {
	m := rs.NewMutex("daily", redsync.WithExpiry(24*time.Hour))
	if err := m.TryLock(); err != nil {
		return nil
	}
	return work()
}

func claimOneTry(rs *redsync.Redsync) error {
	m := rs.NewMutex("daily", redsync.WithExpiry(24*time.Hour), redsync.WithTries(1))
	if err := m.Lock(); err != nil {
		return nil
	}
	return work()
}

func claimBlank(ctx context.Context, c *redislock.Client) error {
	if _, err := c.Obtain(ctx, "daily", 24*time.Hour, nil); err != nil {
		return err
	}
	return work()
}
