package ll3008

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

// Several locks at once: in a list, a map, or a script with several keys.

func listOfMutexes(ctx context.Context, rs *redsync.Redsync, ids []string) error {
	var all []*redsync.Mutex
	defer func() {
		for _, m := range all {
			m.UnlockContext(ctx) // want `LL3008: m.UnlockContext is given the caller's context`
		}
	}()
	for _, id := range ids {
		m := rs.NewMutex(id)
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		all = append(all, m)
	}
	return work()
}

func listBackwards(ctx context.Context, c *redislock.Client, ids []string) error {
	all := make([]*redislock.Lock, 0, len(ids))
	for _, id := range ids {
		lock, err := c.Obtain(ctx, id, time.Minute, nil)
		if err != nil {
			return err
		}
		all = append(all, lock)
	}
	err := work()
	for i := len(all) - 1; i >= 0; i-- {
		all[i].Release(ctx) // want `LL3008: .*Release is given the caller's context`
	}
	return err
}

func mapOfLocks(ctx context.Context, c *redislock.Client, ids []string) error {
	all := map[string]*redislock.Lock{}
	defer func() {
		for _, lock := range all {
			_ = lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
		}
	}()
	for _, id := range ids {
		lock, err := c.Obtain(ctx, id, time.Minute, nil)
		if err != nil {
			return err
		}
		all[id] = lock
	}
	return work()
}

func listDetached(ctx context.Context, c *redislock.Client, ids []string) error {
	var all []*redislock.Lock
	defer func() {
		for _, lock := range all {
			lock.Release(context.WithoutCancel(ctx))
		}
	}()
	for _, id := range ids {
		lock, err := c.Obtain(ctx, id, time.Minute, nil)
		if err != nil {
			return err
		}
		all = append(all, lock)
	}
	return work()
}

func listOwnContext(ctx context.Context, c *redislock.Client, ids []string) error {
	var all []*redislock.Lock
	for _, id := range ids {
		lock, err := c.Obtain(ctx, id, time.Minute, nil)
		if err != nil {
			return err
		}
		all = append(all, lock)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for _, lock := range all {
			lock.Release(ctx)
		}
	}()
	return work()
}

// Locks that others have put there.
func listOfOthers(ctx context.Context, all []*redislock.Lock) {
	for _, lock := range all {
		lock.Release(ctx)
	}
}

// Scripts that loop over their keys.

var lockTables = redis.NewScript(`
for _, key in ipairs(KEYS) do
	if redis.call("EXISTS", key) == 1 then return 0 end
end
for _, key in ipairs(KEYS) do redis.call("SET", key, ARGV[1], "PX", ARGV[2]) end
return 1`)

var unlockTables = redis.NewScript(`
local n = 0
for i = 1, #KEYS do
	if redis.call("GET", KEYS[i]) == ARGV[1] then n = n + redis.call("DEL", KEYS[i]) end
end
return n`)

type tables struct{ rdb *redis.Client }

func (t *tables) LockAll(ctx context.Context, keys []string, token string) error {
	if n, err := lockTables.Run(ctx, t.rdb, keys, token, 60000).Int(); err != nil || n == 0 {
		return errors.Join(err, errors.New("busy"))
	}
	return nil
}

func (t *tables) UnlockAll(ctx context.Context, keys []string, token string) error {
	return unlockTables.Run(ctx, t.rdb, keys, token).Err()
}

func (t *tables) Merge(ctx context.Context, keys []string, token string) error {
	if err := t.LockAll(ctx, keys, token); err != nil {
		return err
	}
	defer t.UnlockAll(ctx, keys, token) // want `LL3008: t.UnlockAll is given the caller's context`
	return work()
}

func (t *tables) Swap(ctx context.Context, a, b, token string) error {
	keys := []string{"lock:" + a, "lock:" + b}
	ok, err := lockTables.Run(ctx, t.rdb, keys, token, 60000).Bool()
	if err != nil || !ok {
		return err
	}
	defer unlockTables.Run(ctx, t.rdb, keys, token) // want `LL3008: unlockTables.Run is given the caller's context`
	return work()
}

func (t *tables) SwapDetached(ctx context.Context, a, b, token string) error {
	keys := []string{"lock:" + a, "lock:" + b}
	ok, err := lockTables.Run(ctx, t.rdb, keys, token, 60000).Bool()
	if err != nil || !ok {
		return err
	}
	defer unlockTables.Run(context.WithoutCancel(ctx), t.rdb, keys, token)
	return work()
}
