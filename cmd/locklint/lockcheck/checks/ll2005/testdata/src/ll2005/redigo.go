package ll2005

import (
	"github.com/gomodule/redigo/redis"
)

func redigo(c redis.Conn) error {
	n, err := redis.Int(c.Do("SETNX", "lock:r1", 1)) // want `LL2005: SETNX takes the lock without an expiry and EXPIRE adds it later`
	if err != nil || n == 0 {
		return errBusy
	}
	c.Do("EXPIRE", "lock:r1", 10)
	defer c.Do("DEL", "lock:r1")
	return nil
}

func redigoMulti(c redis.Conn) {
	c.Send("MULTI")
	c.Send("SETNX", "lock:r2", 1) // want `LL2005: SETNX and EXPIRE \(line 20\) arrive together in MULTI`
	c.Send("EXPIRE", "lock:r2", 10)
	c.Do("EXEC")
	defer c.Do("DEL", "lock:r2")
}

func redigoFine(c redis.Conn) error {
	if s, err := redis.String(c.Do("SET", "lock:r3", 1, "NX", "EX", 10)); err != nil || s == "" {
		return errBusy
	}
	defer c.Do("DEL", "lock:r3")
	return nil
}
