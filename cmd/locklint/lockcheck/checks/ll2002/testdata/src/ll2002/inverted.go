package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The two answers taken for each other: whoever has got the lock goes, whoever has not does the work and releases.

func lockUntil(ctx context.Context, rdb *redis.Client, key string) bool {
	return rdb.SetNX(ctx, key, time.Now().String(), time.Minute).Val()
}

func unlockNow(ctx context.Context, rdb *redis.Client, key string) {
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
}

func invertedAnswer(ctx context.Context, rdb *redis.Client, work func()) {
	if lockUntil(ctx, rdb, "lock:inverted") {
		return
	}
	defer unlockNow(ctx, rdb, "lock:inverted") // want `LL2002: DEL \(through unlockNow\) runs only when SetNX \(through lockUntil\) \(line 21\) has not got the lock`
	work()
}

// What is removed at once, without the lock, is mostly a stale key.
func removesStale(ctx context.Context, rdb *redis.Client, work func()) {
	if rdb.SetNX(ctx, "lock:stale", "1", time.Minute).Val() {
		work()
		return
	}
	if rdb.Get(ctx, "lock:stale").Val() == "" {
		rdb.Del(ctx, "lock:stale")
	}
}

// The names of the two helpers pair up.

type nowLocks struct{ rdb *redis.Client }

func (l *nowLocks) Lock(ctx context.Context, key, token string) bool {
	return l.rdb.SetNX(ctx, key, token, time.Minute).Val()
}

func (l *nowLocks) UnlockNow(ctx context.Context, key string) {
	l.rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
}
