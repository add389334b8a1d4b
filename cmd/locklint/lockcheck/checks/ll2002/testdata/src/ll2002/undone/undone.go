// Package undone has releases that only look like those of a lock that is lost, and some that are.
package undone

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Two pauses: the first is given up where the second cannot be had, which is no release.

var errPaused = errors.New("paused")

func lockDevice(ctx context.Context, rdb *redis.Client, id string) error {
	ok, err := rdb.SetNX(ctx, "device:lock:"+id, "locked", time.Second).Result()
	if err != nil || !ok {
		return errPaused
	}
	return nil
}

func lockGateway(ctx context.Context, rdb *redis.Client, id, device string) error {
	ok, err := rdb.SetNX(ctx, "gateway:lock:"+id, "locked", time.Second).Result()
	if err != nil {
		return err
	}
	if !ok {
		rdb.Del(ctx, "device:lock:"+device)
		return errPaused
	}
	return nil
}

// A release that asks a flag first, which the acquire has set, does nothing without the lock.

type flagged struct {
	rdb  *redis.Client
	key  string
	held bool
}

func (f *flagged) Lock(ctx context.Context, key, token string) (bool, error) {
	f.key = "lock:" + key
	ok, err := f.rdb.SetNX(ctx, f.key, token, time.Minute).Result()
	if ok {
		f.held = true
	}
	return ok, err
}

func (f *flagged) Unlock(ctx context.Context) error {
	if !f.held {
		return nil
	}
	return f.rdb.Del(ctx, f.key).Err() // want `LL2002: DEL releases this lock without asking whose it is`
}

func useFlagged(ctx context.Context, rdb *redis.Client, token string) error {
	f := &flagged{rdb: rdb}
	ok, err := f.Lock(ctx, "order", token)
	defer f.Unlock(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errPaused
	}
	return nil
}

// The plain one of two releases, of which the other compares, is meant to be what it is.

const careful = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

func TryLock(ctx context.Context, rdb *redis.Client, key, token string) (bool, error) {
	return rdb.SetNX(ctx, key, token, time.Minute).Result()
}

func UnLock(ctx context.Context, rdb *redis.Client, key string) { rdb.Del(ctx, key) }

func UnLockSafe(ctx context.Context, rdb *redis.Client, key, token string) error {
	return rdb.Eval(ctx, careful, []string{key}, token).Err()
}

// The verbs may stand around what is locked.

func GetCouponLock(ctx context.Context, rdb *redis.Client, coupon, token string) (bool, error) {
	return rdb.SetNX(ctx, "register:coupon:"+coupon, token, time.Minute).Result()
}

func DeleteCouponLock(ctx context.Context, rdb *redis.Client, coupon string) error {
	return rdb.Del(ctx, "register:coupon:"+coupon).Err() // want `LL2002: DEL releases this lock without asking whose it is`
}

// A number that a pipeline starts and counts is no lock, here and for the callers.

type pipeliner interface {
	redis.Pipeliner
	Discard()
}

type client struct{ *redis.Client }

func (c client) queue() pipeliner { return nil }

func number(ctx context.Context, rdb client, session string) (int64, error) {
	pipe := rdb.queue()
	pipe.SetNX(ctx, "session:number:"+session, 0, time.Minute).Result()
	n := pipe.Incr(ctx, "session:number:"+session)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, err
	}
	return n.Val(), nil
}

func remove(ctx context.Context, rdb *redis.Client, session string) error {
	return rdb.Del(ctx, "session:number:"+session).Err()
}

func commit(ctx context.Context, rdb client, session string, work func(n int64) error) error {
	n, err := number(ctx, rdb, session)
	if err != nil {
		return err
	}
	if err := work(n); err != nil {
		return err
	}
	return remove(ctx, rdb.Client, session)
}
