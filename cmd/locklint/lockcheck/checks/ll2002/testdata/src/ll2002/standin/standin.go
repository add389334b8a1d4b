// Package standin has releases of two kinds, of which one runs or the other.
package standin

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A DEL that stands in for the release that compares is the release, where it runs.

var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

type desk struct {
	rdb     *redis.Client
	tokens  map[string]string
	scripts bool
}

func (d *desk) Lock(ctx context.Context, id, token string) bool {
	if !d.rdb.SetNX(ctx, "desk-lock:"+id, token, time.Second).Val() {
		return false
	}
	d.tokens[id] = token
	return true
}

func (d *desk) release(ctx context.Context, id, token string) error {
	return unlock.Run(ctx, d.rdb, []string{"desk-lock:" + id}, token).Err()
}

func (d *desk) Unlock(ctx context.Context, id string) error {
	token, ok := d.tokens[id]
	if !ok {
		return d.rdb.Del(ctx, "desk-lock:"+id).Err() // want `LL2002: DEL releases this lock without asking whose it is`
	}
	return d.release(ctx, id, token)
}

func acquireLock(ctx context.Context, rdb *redis.Client, key, token string) bool {
	return rdb.SetNX(ctx, key, token, time.Second).Val()
}

func releaseLock(ctx context.Context, rdb *redis.Client, key string) {
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
}

func releaseLockByScript(ctx context.Context, rdb *redis.Client, key, token string) {
	unlock.Run(ctx, rdb, []string{key}, token)
}

func (d *desk) hold(ctx context.Context, id, token string, work func()) {
	key := "desk:" + id
	if !acquireLock(ctx, d.rdb, key, token) {
		return
	}
	defer func() {
		if d.scripts {
			releaseLockByScript(ctx, d.rdb, key, token)
		} else {
			releaseLock(ctx, d.rdb, key)
		}
	}()
	work()
}

// Fine: the caller asks for it.

type shelf struct{ rdb *redis.Client }

func (s *shelf) Lock(ctx context.Context, id, token string) bool {
	return s.rdb.SetNX(ctx, "shelf-lock:"+id, token, time.Second).Val()
}

func (s *shelf) Unlock(ctx context.Context, id, token string, whoever bool) {
	if whoever {
		s.rdb.Del(ctx, "shelf-lock:"+id)
		return
	}
	unlock.Run(ctx, s.rdb, []string{"shelf-lock:" + id}, token)
}
