package ll2007

import (
	"context"
	"errors"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Functions that are handed the time: who calls them decides.

var rdb *goredis.Client

func tryLock(key string, expire time.Duration) error {
	locked, err := rdb.SetNX(context.Background(), key, 1, expire).Result()
	if err != nil {
		return err
	}
	if !locked {
		return errors.New("busy")
	}
	return nil
}

func tryLockAtMost(key string, expire time.Duration) error {
	if expire == 0 {
		expire = time.Minute
	}
	return tryLock(key, expire)
}

func unlock(key string) error { return rdb.Del(context.Background(), key).Err() }

func createGiven(id string) error {
	key := "create:" + id
	if err := tryLock(key, 0); err != nil { // want `LL2007: SetNX \(through tryLock\) takes this lock without an expiry: .*hand tryLock a time`
		return err
	}
	defer unlock(key)
	return nil
}

func update(id string) error {
	key := "update:" + id
	if err := tryLock(key, 0); err != nil { // want `LL2007: SetNX \(through tryLock\)`
		return err
	}
	defer unlock(key)
	return nil
}

func pay(id string) error {
	if err := tryLock("pay:"+id, time.Minute); err != nil {
		return err
	}
	defer unlock("pay:" + id)
	return nil
}

func refund(id string) error {
	if err := tryLockAtMost("refund:"+id, 0); err != nil {
		return err
	}
	defer unlock("refund:" + id)
	return nil
}
