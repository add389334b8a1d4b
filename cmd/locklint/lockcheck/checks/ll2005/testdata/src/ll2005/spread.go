package ll2005

import "github.com/gomodule/redigo/redis"

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

type client struct{ pool *redis.Pool }

func (c *client) setIfAbsent(key, value string, seconds int64) (any, error) {
	conn := c.pool.Get()
	defer conn.Close()
	reply, err := conn.Do("SETNX", key, value) // want `LL2005: SETNX takes the lock without an expiry and EXPIRE adds it later`
	if err != nil {
		return -1, err
	}
	if n, _ := reply.(int64); n == 1 {
		_, _ = conn.Do("EXPIRE", key, seconds)
	}
	return reply, nil
}

// eval copies the arguments of its callers behind its own.
func (c *client) eval(script string, keys int, keysAndArgs []any) (any, error) {
	args := make([]any, 2+len(keysAndArgs))
	args[0] = script
	args[1] = keys
	copy(args[2:], keysAndArgs)
	conn := c.pool.Get()
	defer conn.Close()
	return conn.Do("EVAL", args...)
}

type orderLock struct {
	key, token string
	client     *client
}

func (l *orderLock) Lock(seconds int64) bool {
	reply, err := l.client.setIfAbsent("order_"+l.key, l.token, seconds)
	if err != nil {
		return false
	}
	n, _ := reply.(int64)
	return n == 1
}

func (l *orderLock) Unlock() error {
	keysAndArgs := []any{"order_" + l.key, l.token}
	_, err := l.client.eval(compareAndDelete, 1, keysAndArgs)
	return err
}
