package ll2001

import (
	old "github.com/garyburd/redigo/redis"
	"github.com/gomodule/redigo/redis"
)

func redigo(c redis.Conn) error {
	_, err := c.Do("SETNX", "lock:r1", 1) // want `LL2001: the outcome of SETNX is ignored, only the error`
	if err != nil {
		return err
	}
	defer c.Do("DEL", "lock:r1")
	return nil
}

func redigoSet(c old.Conn) error {
	if _, err := c.Do("SET", "lock:r2", 1, "EX", 10, "nx"); err != nil { // want `LL2001: the outcome of SET NX is ignored, only the error`
		return err
	}
	defer c.Do("DEL", "lock:r2")
	return nil
}

func redigoFine(c redis.Conn) error {
	n, err := redis.Int(c.Do("SETNX", "lock:r3", 1))
	if err != nil || n == 0 {
		return errBusy
	}
	defer c.Do("DEL", "lock:r3")
	return nil
}

func redigoPlainSet(c redis.Conn) error {
	if _, err := c.Do("SET", "lock:r4", 1, "EX", 10); err != nil {
		return err
	}
	defer c.Do("DEL", "lock:r4")
	return nil
}
