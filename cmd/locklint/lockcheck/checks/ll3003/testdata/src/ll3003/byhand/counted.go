package byhand

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// A counter that has come to its end says that there is no lock.

func countsTries(ctx context.Context, rdb *redis.Client, token string, work func() error) error {
	i := 0
	for ; i < 10; i++ {
		ok, err := rdb.SetNX(ctx, "lock:counted", token, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			break
		}
		time.Sleep(time.Second)
	}
	if i == 10 {
		return errors.New("taken")
	}
	err := work()
	rdb.Del(ctx, "lock:counted")
	return err
}

func manyTries(ctx context.Context, rdb *redis.Client, token string, work func() error) error {
	i := 0
	for ; i < 10; i++ {
		ok, err := rdb.SetNX(ctx, "lock:many", token, time.Minute).Result() // want `LL3003: the lock from rdb.SetNX is not released on every path`
		if err != nil {
			return err
		}
		if ok {
			break
		}
		time.Sleep(time.Second)
	}
	if i == 10 {
		return errors.New("taken")
	}
	if i > 5 {
		return errors.New("too late")
	}
	err := work()
	rdb.Del(ctx, "lock:many")
	return err
}
