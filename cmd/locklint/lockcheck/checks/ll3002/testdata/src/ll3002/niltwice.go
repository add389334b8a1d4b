package ll3002

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// A function that returns no lock and no error where somebody else has it: the error says only half of it.

func quiet(ctx context.Context, c *redislock.Client) (*redislock.Lock, error) {
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil, nil
	}
	return l, err
}

func afterQuiet(ctx context.Context, c *redislock.Client) error {
	l, err := quiet(ctx, c) // want `LL3002: when quiet fails, the code goes on without the lock: work at line 34 runs either way`
	if err != nil {
		return err
	}
	if l == nil {
		log.Print("busy")
	} else {
		defer l.Release(ctx)
	}
	return work()
}

func returnsIfNone(ctx context.Context, c *redislock.Client) error {
	l, err := quiet(ctx, c)
	if err != nil || l == nil {
		return err
	}
	defer l.Release(ctx)
	return work()
}

func nobodyAsks(ctx context.Context, c *redislock.Client) error {
	l, err := quiet(ctx, c) // want `LL3002: the outcome of quiet is ignored`
	if err != nil {
		return err
	}
	defer l.Release(ctx)
	return work()
}

func quietRelease(rs *redsync.Redsync) (func(), error) {
	m := rs.NewMutex("a", redsync.WithTries(1))
	err := m.Lock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return func() { m.Unlock() }, nil
}

func afterQuietRelease(rs *redsync.Redsync) error {
	release, err := quietRelease(rs) // want `LL3002: when quietRelease fails, the code goes on without the lock: work at line 76 runs either way`
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	return work()
}

func quietByHand(ctx context.Context, rdb *redis.Client, token string) (func(), error) {
	ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, nil
	}
	return func() { rdb.Eval(ctx, compareDel, []string{"lock:a"}, token) }, nil
}

const compareDel = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

func afterQuietByHand(ctx context.Context, rdb *redis.Client) error {
	release, err := quietByHand(ctx, rdb, "t") // want `LL3002: when quietByHand fails, the code goes on without the lock: work at line 100 runs either way`
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	return work()
}

// Where locking is switched off, there is no lock to go on without.

func mayBeOff(ctx context.Context, c *redislock.Client, off bool) (*redislock.Lock, error) {
	if off {
		return nil, nil
	}
	l, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func afterOff(ctx context.Context, c *redislock.Client) error {
	l, err := mayBeOff(ctx, c, false)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Release(ctx)
	}
	return work()
}

func offByHand(ctx context.Context, rdb *redis.Client, token string, off bool) (func(), error) {
	if off {
		return nil, nil
	}
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok {
		return nil, errors.New("busy")
	}
	return func() { rdb.Eval(ctx, compareDel, []string{"lock:a"}, token) }, nil
}

func afterOffByHand(ctx context.Context, rdb *redis.Client) error {
	release, err := offByHand(ctx, rdb, "t", false)
	if err != nil {
		return err
	}
	if release != nil {
		defer release()
	}
	return work()
}
