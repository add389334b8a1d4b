package ll2002

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A key that only a test sets, to see that it goes away, makes no lock of what is deleted here: see keys_test.go.

func dropLock(ctx context.Context, rdb *redis.Client) { rdb.Del(ctx, "lock:dropped") }
