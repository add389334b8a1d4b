package recipes

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

func redigoSetnxExpire(c redis.Conn, key string) error {
	n, err := redis.Int(c.Do("SETNX", key, 1)) // want `LL2005` `LL2003`
	if err != nil || n != 1 {
		return errBusy
	}
	c.Do("EXPIRE", key, 10)
	defer c.Do("DEL", key) // want `LL2002`
	return nil
}

func redigoIncrMulti(c redis.Conn, key string, work func()) error {
	c.Send("MULTI")
	c.Send("INCR", key)
	c.Send("EXPIRE", key, 10)
	reply, err := redis.Int(c.Do("EXEC")) // the count is in there, but nobody can tell
	if err != nil || reply != 1 {
		return errBusy
	}
	defer c.Do("DEL", key)
	work()
	return nil
}

func redigoGetset(c redis.Conn, key string, ttl time.Duration) bool {
	expires := time.Now().Add(ttl).Unix()
	if n, err := redis.Int(c.Do("SETNX", key, expires)); err == nil && n == 1 {
		return true
	}
	old, err := redis.Int64(c.Do("GET", key))
	if err != nil || old > time.Now().Unix() {
		return false
	}
	last, err := redis.Int64(c.Do("GETSET", key, expires)) // want `LL2009`
	return err == nil && last == old
}

func redigoConstant(c redis.Conn, key string) error {
	if s, err := redis.String(c.Do("SET", key, "lock", "EX", 10, "NX")); err != nil || s != "OK" { // want `LL2003`
		return errBusy
	}
	defer c.Do("DEL", key) // want `LL2002`
	return nil
}

var redigoUnlock = redis.NewScript(1, `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func redigoScript(c redis.Conn, key, token string) error {
	if s, err := redis.String(c.Do("SET", key, token, "EX", 10, "NX")); err != nil || s != "OK" {
		return errBusy
	}
	defer redigoUnlock.Do(c, key, token)
	return nil
}

func redigoScriptBlind(c redis.Conn, key, token string) error {
	if s, err := redis.String(c.Do("SET", key, token, "EX", 10, "NX")); err != nil || s != "OK" {
		return errBusy
	}
	defer redis.NewScript(1, `return redis.call("del", KEYS[1])`).Do(c, key) // want `LL2002: EVAL releases this lock`
	return nil
}
