package ll3003

import "github.com/zeromicro/go-zero/core/stores/redis"

func zeroEarly(store *redis.Redis, paid bool) error {
	lock := redis.NewRedisLock(store, "a")
	lock.SetExpire(10)
	got, err := lock.Acquire() // want `LL3003: the lock from RedisLock.Acquire is not released on every path: the return at line 13 \(when paid\) leaves it held`
	if err != nil || !got {
		return err
	}
	if paid {
		return errPaid
	}
	defer lock.Release()
	return work()
}

// It is taken once a day, and over when it expires.
func zeroClaim(store *redis.Redis) error {
	lock := redis.NewRedisLock(store, "a")
	lock.SetExpire(86400)
	if got, err := lock.Acquire(); err != nil || !got {
		return err
	}
	return work()
}
