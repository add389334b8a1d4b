package ll2004

import "github.com/gomodule/redigo/redis"

func redigoRight(c redis.Conn, token string) error {
	if s, err := redis.String(c.Do("SET", "lock:r1", token, "NX", "PX", 10000)); err != nil || s != "OK" {
		return errBusy
	}
	c.Do("WATCH", "lock:r1")
	owner, err := redis.String(c.Do("GET", "lock:r1"))
	if err != nil || owner != token {
		return err
	}
	c.Send("MULTI")
	c.Send("DEL", "lock:r1")
	_, err = c.Do("EXEC")
	return err
}

func redigoWrong(c redis.Conn, token string) error {
	if s, err := redis.String(c.Do("SET", "lock:r2", token, "NX", "PX", 10000)); err != nil || s != "OK" {
		return errBusy
	}
	owner, err := redis.String(c.Do("GET", "lock:r2"))
	if err != nil || owner != token {
		return err
	}
	_, err = c.Do("DEL", "lock:r2") // want `LL2004: DEL comes after the GET`
	return err
}
