package byhand

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A release in the call whose result the function returns is one like any other.

func joined(ctx context.Context, rdb *redis.Client, stock int) error {
	token := rand.Text()
	ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result() // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 24, where something has failed, leaves it held`
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	if stock == 0 {
		return errLost
	}
	err = work(ctx)
	return errors.Join(err, del.Run(context.Background(), rdb, []string{"lock:a"}, token).Err())
}

func first(errs ...error) error { return errs[0] }

func joinedByHelper(ctx context.Context, rdb *redis.Client, stock int) error {
	token := rand.Text()
	if ok, err := rdb.SetNX(ctx, "lock:a", token, time.Minute).Result(); err != nil || !ok { // want `LL3003: the lock from rdb.SetNX is not released on every path: the return at line 38, where something has failed, leaves it held`
		return errors.Join(err, errBusy)
	}
	if stock == 0 {
		return errLost
	}
	err := work(ctx)
	return first(err, del.Run(context.Background(), rdb, []string{"lock:a"}, token).Err())
}

// What is only given back on failure is no lock.
func joinedOnFailure(ctx context.Context, rdb *redis.Client, stock int) error {
	ok, err := rdb.SetNX(ctx, "lock:a", "1", time.Minute).Result()
	if err != nil || !ok {
		return errors.Join(err, errBusy)
	}
	if stock == 0 {
		return errLost
	}
	if err := work(ctx); err != nil {
		return errors.Join(err, rdb.Del(ctx, "lock:a").Err())
	}
	if stock == 1 {
		return errors.Join(errPaid, rdb.Del(ctx, "lock:a").Err())
	}
	return nil
}

var errPaid = errors.New("paid")
