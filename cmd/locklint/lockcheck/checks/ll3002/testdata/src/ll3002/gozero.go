package ll3002

import (
	"context"
	"log"

	"github.com/zeromicro/go-zero/core/stores/redis"
)

func zeroOnlyError(ctx context.Context, store *redis.Redis) error {
	lock := redis.NewRedisLock(store, "a")
	if _, err := lock.AcquireCtx(ctx); err != nil { // want `LL3002: the outcome of lock.AcquireCtx is ignored: when somebody else holds the lock`
		return err
	}
	defer lock.Release()
	return work()
}

func zeroLogs(store *redis.Redis) error {
	lock := redis.NewRedisLock(store, "a")
	got, err := lock.Acquire() // want `LL3002: when lock.Acquire fails, the code goes on without the lock: work at line 28 runs either way`
	if err != nil {
		return err
	}
	if !got {
		log.Println("busy")
	}
	err = work()
	_, _ = lock.Release()
	return err
}

func zeroRight(store *redis.Redis) error {
	lock := redis.NewRedisLock(store, "a")
	lock.SetExpire(10)
	got, err := lock.Acquire()
	if err != nil || !got {
		return err
	}
	defer lock.Release()
	return work()
}

// A release that compares its own token does no harm where there is no lock.
func zeroDefersFirst(store *redis.Redis) error {
	lock := redis.NewRedisLock(store, "a")
	got, err := lock.Acquire()
	defer lock.Release()
	if err != nil || !got {
		return err
	}
	return work()
}
