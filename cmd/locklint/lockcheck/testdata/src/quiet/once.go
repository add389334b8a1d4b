package quiet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/redis/go-redis/v9"
)

// Marks that something has been done: set before, left behind where it went well, and taken back only where it failed, so
// that it can be tried again. The keys say lock, and are none.

type once struct{ rdb *redis.Client }

func onceWork() error { return nil }

// Daily runs once a day.
func (o *once) Daily(ctx context.Context, day string) error {
	key := "lock:report:" + day
	ok, err := o.rdb.SetNX(ctx, key, day, 24*time.Hour).Result()
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	if err := onceWork(); err != nil {
		o.rdb.Del(ctx, key)
		return err
	}
	return nil
}

func (o *once) lockDay(ctx context.Context, now time.Time) error {
	key := fmt.Sprintf("report:lock:%s", now.Format("2006-01-02"))
	if !o.rdb.SetNX(ctx, key, "1", 25*time.Hour).Val() {
		return nil
	}
	err := onceWork()
	if err != nil {
		_ = o.rdb.Del(ctx, key).Err()
	}
	return err
}

// onceDeferred takes the mark back in a deferred literal.
func (o *once) onceDeferred(ctx context.Context, id int64) (err error) {
	key := fmt.Sprintf("lock:mail:%d", id)
	ok, err := o.rdb.SetNX(ctx, key, 1, 48*time.Hour).Result()
	if err != nil || !ok {
		return err
	}
	defer func() {
		if err != nil {
			o.rdb.Del(ctx, key)
		}
	}()
	return onceWork()
}

// onceFlag says by a flag that it went well.
func (o *once) onceFlag(ctx context.Context, id string) error {
	key := "lock:mail:" + id
	if ok, err := o.rdb.SetNX(ctx, key, "sent", 24*time.Hour).Result(); err != nil || !ok {
		return err
	}
	done := false
	defer func() {
		if !done {
			o.rdb.Del(ctx, key)
		}
	}()
	if err := onceWork(); err != nil {
		return err
	}
	done = true
	return nil
}

// onceHelpers has functions for the mark.
func (o *once) acquireLock(ctx context.Context, key string) (bool, error) {
	return o.rdb.SetNX(ctx, "lock:once:"+key, "1", 24*time.Hour).Result()
}

func (o *once) releaseLock(ctx context.Context, key string) error {
	return o.rdb.Del(ctx, "lock:once:"+key).Err()
}

func (o *once) onceHelpers(ctx context.Context, day string) error {
	ok, err := o.acquireLock(ctx, day)
	if err != nil || !ok {
		return err
	}
	if err := onceWork(); err != nil {
		_ = o.releaseLock(ctx, day)
		return err
	}
	return nil
}

// onceAll marks many, and takes back those that failed.
func (o *once) onceAll(ctx context.Context, ids []string) error {
	var failed error
	for _, id := range ids {
		key := "lock:notify:" + id
		if ok, err := o.rdb.SetNX(ctx, key, "1", 72*time.Hour).Result(); err != nil || !ok {
			continue
		}
		if err := onceWork(); err != nil {
			o.rdb.Del(ctx, key)
			failed = errors.Join(failed, err)
			continue
		}
	}
	return failed
}

// The same with libraries of locks.

func onceMutex(rs *redsync.Redsync, day string) error {
	m := rs.NewMutex("report:"+day, redsync.WithExpiry(24*time.Hour), redsync.WithTries(1))
	if err := m.Lock(); err != nil {
		return nil
	}
	if err := onceWork(); err != nil {
		_, _ = m.Unlock()
		return err
	}
	return nil
}

func onceLock(ctx context.Context, c *redislock.Client, day string) error {
	l, err := c.Obtain(ctx, "report:"+day, 24*time.Hour, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := onceWork(); err != nil {
		_ = l.Release(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

func onceLease(ctx context.Context, locks *lockrt.Locker, day string) error {
	lease, err := locks.TryAcquire(ctx, "report:"+day, lockrt.Options{TTL: 24 * time.Hour, NoRenew: true})
	if err != nil {
		return err
	}
	if err := onceWork(); err != nil {
		lease.Release(ctx)
		return err
	}
	return nil
}
