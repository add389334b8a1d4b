package ll2005

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// The test of the outcome has the Expire in its body, before anything else.

func inBody(ctx context.Context, rdb *redis.Client, work func() error) error {
	if rdb.SetNX(ctx, "lock:k", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		rdb.Expire(ctx, "lock:k", time.Minute)
		defer rdb.Del(ctx, "lock:k")
		return work()
	}
	return errBusy
}

func inBodyOfBoth(ctx context.Context, rdb *redis.Client, work func() error) error {
	if ok, err := rdb.SetNX(ctx, "lock:l", 1, 0).Result(); err == nil && ok { // want `LL2005: SetNX takes the lock`
		if err := rdb.Expire(ctx, "lock:l", time.Minute).Err(); err != nil {
			return err
		}
		defer rdb.Del(ctx, "lock:l")
		return work()
	}
	return errBusy
}

func inBodyBehind(ctx context.Context, rdb *redis.Client, work func() error) error {
	ok, err := rdb.SetNX(ctx, "lock:m", 1, 0).Result() // want `LL2005: SetNX takes the lock`
	if err != nil {
		return err
	}
	if ok {
		rdb.Expire(ctx, "lock:m", time.Minute)

		defer rdb.Del(ctx, "lock:m")
		return work()
	}
	return errBusy
}

// Not moved: something else decides as well, or those who have not got it prolong it, or the lock is all there is.

func onlyIf(ctx context.Context, rdb *redis.Client, brief bool, work func() error) error {
	if rdb.SetNX(ctx, "lock:n", 1, 0).Val() && brief { // want `LL2005: SetNX takes the lock`
		rdb.Expire(ctx, "lock:n", time.Minute)
		defer rdb.Del(ctx, "lock:n")
		return work()
	}
	return errBusy
}

func losers(ctx context.Context, rdb *redis.Client, work func() error) error {
	defer rdb.Del(ctx, "lock:o")
	ok := rdb.SetNX(ctx, "lock:o", 1, 0).Val() // want `LL2005: SetNX takes the lock`
	if ok {
		return work()
	}
	rdb.Expire(ctx, "lock:o", time.Minute)
	return errBusy
}

func workBefore(ctx context.Context, rdb *redis.Client, work func() error) error {
	if rdb.SetNX(ctx, "lock:p", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		work()
		rdb.Expire(ctx, "lock:p", time.Minute)
		rdb.Del(ctx, "lock:p")
	}
	return errBusy
}

// Nothing else would use the variable.
func lastUse(ctx context.Context, rdb *redis.Client) error {
	why := errors.New("no expiry")
	if !rdb.SetNX(ctx, "lock:q", 1, 0).Val() { // want `LL2005: SetNX takes the lock`
		return errBusy
	}
	if err := rdb.Expire(ctx, "lock:q", time.Minute).Err(); err != nil {
		return why
	}
	defer rdb.Del(ctx, "lock:q")
	return nil
}
