package ll2006

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"
)

func redigoArity(c redis.Conn) error {
	if n, err := redis.Int(c.Do("SETNX", "lock:r1", 1, "EX", 10)); err != nil || n == 0 { // want `LL2006: SETNX of this lock: SETNX takes a key and a value`
		return errBusy
	}
	defer c.Do("DEL", "lock:r1")
	return nil
}

func redigoUnit(c redis.Conn, ttl time.Duration) error {
	if s, err := redis.String(c.Do("SET", "lock:r2", 1, "NX", "EX", ttl)); err != nil || s == "" { // want `LL2006: SET NX of this lock: it takes a number of seconds`
		return errBusy
	}
	defer c.Do("DEL", "lock:r2")
	return nil
}

func redigoMissing(c redis.Conn) error {
	if s, err := redis.String(c.Do("SET", "lock:r3", 1, "NX", "EX")); err != nil || s == "" { // want `LL2006: SET NX of this lock: EX is not followed by a time`
		return errBusy
	}
	defer c.Do("DEL", "lock:r3")
	return nil
}

func redigoFine(c redis.Conn, options ...interface{}) error {
	args := append([]interface{}{"lock:r4", 1}, options...)
	if s, err := redis.String(c.Do("SET", args...)); err != nil || s == "" {
		return errBusy
	}
	defer c.Do("DEL", "lock:r4")
	if s, err := redis.String(c.Do("SET", "lock:r5", 1, "nx", "ex", 10)); err != nil || s == "" {
		return errBusy
	}
	defer c.Do("DEL", "lock:r5")
	return nil
}

func rueidisUnit(ctx context.Context, c rueidis.Client, token string, ttl time.Duration) error {
	set := c.B().Set().Key("lock:u1").Value(token).Nx().ExSeconds(int64(ttl)).Build()
	if err := c.Do(ctx, set).Error(); err != nil { // want `LL2006: SET NX of this lock: it takes a number of seconds`
		return err
	}
	defer c.Do(ctx, c.B().Del().Key("lock:u1").Build())
	return nil
}

func rueidisFine(ctx context.Context, c rueidis.Client, token string, ttl time.Duration) error {
	if err := c.Do(ctx, c.B().Set().Key("lock:u2").Value(token).Nx().Px(ttl).Build()).Error(); err != nil {
		return err
	}
	defer c.Do(ctx, c.B().Del().Key("lock:u2").Build())
	if err := c.Do(ctx, c.B().Set().Key("lock:u3").Value(token).Nx().ExSeconds(int64(ttl/time.Second)).Build()).Error(); err != nil {
		return err
	}
	defer c.Do(ctx, c.B().Del().Key("lock:u3").Build())
	return nil
}
