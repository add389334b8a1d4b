package ll2006

import "github.com/gomodule/redigo/redis"

// Whether a time counts seconds or milliseconds is an argument here.

func setIn(c redis.Conn, key, token, unit string, ttl uint64) (bool, error) {
	s, err := redis.String(c.Do("SET", key, token, unit, ttl, "NX"))
	return s == "OK", err
}

func lockTwice(c redis.Conn, key, token, unit string, ttl uint64) (bool, error) {
	s, err := redis.String(c.Do("SET", key, token, unit, ttl, ttl, "NX")) // want `LL2006: SET NX of this lock: SET has no option that is a number`
	return s == "OK", err
}

func inUnits(c redis.Conn, token string) error {
	if ok, err := setIn(c, "lock:unit", token, "EX", 10); err != nil || !ok {
		return err
	}
	defer c.Do("DEL", "lock:unit")
	if ok, err := lockTwice(c, "lock:twice", token, "EX", 10); err != nil || !ok {
		return err
	}
	defer c.Do("DEL", "lock:twice")
	return nil
}
