package ll2002

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Beside a release that compares, a plain DEL of the same lock is taken for a forced one. That of another lock is not, be
// its keys of the same form.

var unlockRoom = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

type room struct {
	rdb   *redis.Client
	token string
}

func enterRoom(ctx context.Context, rdb *redis.Client, id, token string) *room {
	if !rdb.SetNX(ctx, "room-lock:"+id, token, time.Second).Val() {
		return nil
	}
	return &room{rdb, token}
}

func (r *room) Unlock(ctx context.Context, id string) {
	unlockRoom.Run(ctx, r.rdb, []string{"room-lock:" + id}, r.token)
}

func LockRoom(ctx context.Context, rdb *redis.Client, id string) bool {
	return rdb.SetNX(ctx, "room-lock:"+id, 1, time.Second).Val()
}

func UnlockRoom(ctx context.Context, rdb *redis.Client, id string) {
	rdb.Del(ctx, "room-lock:"+id) // want `LL2002: DEL releases this lock .* if the SetNX at line 32 has expired`
}

func cleanRoom(ctx context.Context, rdb *redis.Client, id, token string, work func()) {
	if rdb.SetNX(ctx, "room-lock:"+id, token, time.Second).Val() {
		defer rdb.Del(ctx, "room-lock:"+id) // want `LL2002: DEL releases this lock .* if the SetNX at line 40 has expired`
		work()
	}
}

func guardRoom(ctx context.Context, rdb *redis.Client, id, token string, work func()) {
	if rdb.SetNX(ctx, "room-lock:"+id, token, time.Second).Val() {
		defer unlockRoom.Run(ctx, rdb, []string{"room-lock:" + id}, token)
		work()
	}
}

// Fine: one lock, with a release of each kind.

type hall struct{ rdb *redis.Client }

func (h *hall) Lock(ctx context.Context, id, token string) bool {
	return h.rdb.SetNX(ctx, "hall-lock:"+id, token, time.Second).Val()
}

func (h *hall) Unlock(ctx context.Context, id, token string) {
	unlockRoom.Run(ctx, h.rdb, []string{"hall-lock:" + id}, token)
}

func (h *hall) UnlockAnyway(ctx context.Context, id string) { h.rdb.Del(ctx, "hall-lock:"+id) }

func (h *hall) withLock(ctx context.Context, id, token string, work func() bool) {
	if !h.rdb.SetNX(ctx, "hall2-lock:"+id, token, time.Second).Val() {
		return
	}
	if work() {
		unlockRoom.Run(ctx, h.rdb, []string{"hall2-lock:" + id}, token)
	} else {
		h.rdb.Del(ctx, "hall2-lock:"+id)
	}
}
