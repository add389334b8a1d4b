package ll2006

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// A type that is a lock by its name, with a release that compares: its methods need not be called Lock and Unlock.

type redisLock struct{ pool *redis.Pool }

var compareAndDelete = redis.NewScript(1, `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (l *redisLock) Set(key, token string, ttl time.Duration) bool {
	conn := l.pool.Get()
	defer conn.Close()
	reply, err := redis.String(conn.Do("SET", key, token, "NX", "EX", int(ttl/time.Millisecond))) // want `LL2006: SET NX of this lock: it takes a number of seconds and is given a smaller unit`
	return err == nil && reply == "OK"
}

func (l *redisLock) SetSeconds(key, token string, ttl time.Duration) bool {
	conn := l.pool.Get()
	defer conn.Close()
	reply, err := redis.String(conn.Do("SET", key, token, "NX", "PX", int(ttl/time.Second))) // want `LL2006: SET NX of this lock: it takes a number of milliseconds and is given seconds`
	return err == nil && reply == "OK"
}

func (l *redisLock) SetRight(key, token string, ttl time.Duration) bool {
	conn := l.pool.Get()
	defer conn.Close()
	reply, err := redis.String(conn.Do("SET", key, token, "NX", "PX", int(ttl/time.Millisecond)))
	return err == nil && reply == "OK"
}

func (l *redisLock) Release(key, token string) bool {
	conn := l.pool.Get()
	defer conn.Close()
	n, err := redis.Int(compareAndDelete.Do(conn, key, token))
	return err == nil && n == 1
}

// The arguments of a command may be put together by append.

func appendedArguments(conn redis.Conn, token string, ttl time.Duration) error {
	args := []any{"lock:appended", token}
	args = append(args, "NX", "EX", ttl)
	reply, err := conn.Do("SET", args...) // want `LL2006: SET NX of this lock: it takes a number of seconds and is given a time.Duration`
	if err != nil || reply == nil {
		return err
	}
	_, err = compareAndDelete.Do(conn, "lock:appended", token)
	return err
}
