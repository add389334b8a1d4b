package ll2007

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var errBusy = errors.New("busy")

func zero(ctx context.Context, rdb *goredis.Client) error {
	if !rdb.SetNX(ctx, "lock:a", 1, 0).Val() { // want `LL2007: SetNX takes this lock without an expiry: a holder that crashes before the DEL at line 19`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:a")
	return nil
}

func noOption(c redis.Conn) error {
	if s, err := redis.String(c.Do("SET", "lock:b", 1, "NX")); err != nil || s == "" { // want `LL2007: SET NX takes this lock without an expiry`
		return errBusy
	}
	defer c.Do("DEL", "lock:b")
	return nil
}

func builder(ctx context.Context, c rueidis.Client, token string) error {
	ok, err := c.Do(ctx, c.B().Setnx().Key("lock:c").Value(token).Build()).AsBool() // want `LL2007: SETNX takes this lock without an expiry`
	if err != nil || !ok {
		return errBusy
	}
	defer c.Do(ctx, c.B().Del().Key("lock:c").Build())
	return nil
}

const take = `if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then return 1 end return 0`

func script(ctx context.Context, rdb *goredis.Client, token string) error {
	if n, _ := rdb.Eval(ctx, take, []string{"lock:d"}, token).Int64(); n == 0 { // want `LL2007: EVAL takes this lock without an expiry`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:d")
	return nil
}

// A pair of methods, and a time that its user chooses.

type Mutex struct {
	rdb *goredis.Client
	key string
}

func (m *Mutex) Lock(ctx context.Context) bool {
	return m.rdb.SetNX(ctx, m.key, 1, 0).Val() // want `LL2007: SetNX takes this lock without an expiry`
}

func (m *Mutex) Unlock(ctx context.Context) { m.rdb.Del(ctx, m.key) }

func useMutex(ctx context.Context, m *Mutex) {
	if m.Lock(ctx) {
		defer m.Unlock(ctx)
	}
}

func set(ctx context.Context, rdb *goredis.Client, key string, ttl time.Duration) bool {
	return rdb.SetNX(ctx, key, 1, ttl).Val()
}

func forEver(ctx context.Context, rdb *goredis.Client) error {
	if !set(ctx, rdb, "lock:e", 0) { // want `LL2007: SetNX \(through set\) takes this lock without an expiry`
		return errBusy
	}
	defer rdb.Del(ctx, "lock:e")
	return nil
}

// An expiry: at once, in a second step (which is LL2005), in a script, from somewhere else, or unknown.

func fine(ctx context.Context, rdb *goredis.Client, ttl time.Duration) error {
	if !set(ctx, rdb, "lock:f", time.Minute) {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:f")
	if !rdb.SetNX(ctx, "lock:g", 1, ttl).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:g")
	if !rdb.SetNX(ctx, "lock:h", 1, 0).Val() {
		return errBusy
	}
	rdb.Expire(ctx, "lock:h", ttl)
	defer rdb.Del(ctx, "lock:h")
	return nil
}

const takeFor = `if redis.call("SETNX", KEYS[1], ARGV[1]) == 1 then redis.call("PEXPIRE", KEYS[1], ARGV[2]) return 1 end return 0`

func scriptFor(ctx context.Context, rdb *goredis.Client, token string) error {
	if n, _ := rdb.Eval(ctx, takeFor, []string{"lock:i"}, token, 10000).Int64(); n == 0 {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:i")
	return nil
}

func optional(c redis.Conn, option string) error {
	if s, err := redis.String(c.Do("SET", "lock:j", 1, "NX", option, 10)); err != nil || s == "" {
		return errBusy
	}
	defer c.Do("DEL", "lock:j")
	return nil
}

func elsewhere(ctx context.Context, rdb *goredis.Client) error {
	if !rdb.SetNX(ctx, "lock:k", 1, 0).Val() {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:k")
	return nil
}

func janitor(ctx context.Context, rdb *goredis.Client) { rdb.Expire(ctx, "lock:k", time.Hour) }

// No locks: a marker that stays, a value that is created once.

func install(ctx context.Context, rdb *goredis.Client) bool {
	return rdb.SetNX(ctx, "installed", 1, 0).Val()
}

func create(ctx context.Context, rdb *goredis.Client, id, v string) bool {
	return rdb.SetNX(ctx, "user:"+id, v, 0).Val()
}

func remove(ctx context.Context, rdb *goredis.Client, id string) { rdb.Del(ctx, "user:"+id) }
