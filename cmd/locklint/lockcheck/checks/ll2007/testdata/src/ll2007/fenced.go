package ll2007

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Whoever holds a lock, and says so by its token, keeps its progress in other keys: they are no locks.

const lockKey, progressKey, doneKey = "lock:reconcile", "reconcile:lock:epoch", "reconcile:done"

func ensureProgress(ctx context.Context, rdb *redis.Client, epoch int64, token string) error {
	return rdb.Eval(ctx, `if redis.call("GET",KEYS[1]) ~= ARGV[1] then return 0 end
		if redis.call("EXISTS",KEYS[2]) == 0 then redis.call("SET",KEYS[2],ARGV[2]); redis.call("UNLINK",KEYS[3]) end
		return 1`, []string{lockKey, progressKey, doneKey}, token, epoch).Err()
}

func clearProgress(ctx context.Context, rdb *redis.Client, token string) error {
	return rdb.Eval(ctx, `if redis.call("GET",KEYS[1]) ~= ARGV[1] then return 0 end redis.call("DEL",KEYS[2]) return 1`,
		[]string{lockKey, progressKey}, token).Err()
}

func reconcile(ctx context.Context, rdb *redis.Client, token string) error {
	if err := ensureProgress(ctx, rdb, 1, token); err != nil {
		return err
	}
	defer clearProgress(ctx, rdb, token)
	return nil
}

// A lock that nobody may take while another key says so is one nevertheless.

func takeUnlessClosed(ctx context.Context, rdb *redis.Client, token string) (any, error) {
	return rdb.Eval( // want `LL2007: EVAL takes this lock without an expiry`
		ctx, `if redis.call("GET",KEYS[2]) == "closed" then return 0 end
		if redis.call("EXISTS",KEYS[1]) == 0 then redis.call("SET",KEYS[1],ARGV[1]) return 1 end
		return 0`, []string{"lock:door", "door"}, token).Result()
}

func dropDoor(ctx context.Context, rdb *redis.Client, token string) error {
	return rdb.Eval(ctx, `if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end return 0`,
		[]string{"lock:door"}, token).Err()
}
