package ll2012

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

var errBusy = errors.New("busy")

func deferred(ctx context.Context, rdb *goredis.Client, work func()) error {
	if rdb.Incr(ctx, "slots").Val() > 10 { // want `LL2012: Incr is used as a semaphore: who dies before the Decr at line 19 keeps the permit for ever`
		rdb.Decr(ctx, "slots")
		return errBusy
	}
	defer rdb.Decr(ctx, "slots")
	work()
	return nil
}

func deferredFirst(ctx context.Context, rdb *goredis.Client, limit int64, work func()) error {
	n, err := rdb.Incr(ctx, "renders").Result() // want `LL2012`
	if err != nil {
		return err
	}
	defer rdb.Decr(ctx, "renders")
	if n > limit {
		return errBusy
	}
	work()
	return nil
}

func plain(ctx context.Context, rdb *goredis.Client, limit int64, work func()) bool {
	if rdb.Incr(ctx, "gpu").Val() <= limit { // want `LL2012: Incr is used as a semaphore: who dies before the Decr at line \d+ keeps the permit for as long as others come`
		rdb.Expire(ctx, "gpu", time.Minute)
		work()
		rdb.Decr(ctx, "gpu")
		return true
	}
	rdb.Decr(ctx, "gpu")
	return false
}

// handed returns what gives the permit back.
func handed(ctx context.Context, rdb *goredis.Client, limit int64) (func(), error) {
	n, err := rdb.Incr(ctx, "imports").Result() // want `LL2012`
	if err != nil {
		return nil, err
	}
	if n > limit {
		rdb.Decr(ctx, "imports")
		return nil, errBusy
	}
	return func() { rdb.Decr(ctx, "imports") }, nil
}

type Semaphore struct {
	rdb *goredis.Client
	key string
	max int64
}

func (s *Semaphore) Acquire(ctx context.Context) (bool, error) {
	n, err := s.rdb.Incr(ctx, s.key).Result() // want `LL2012: Incr is used as a semaphore: who dies before the Decr`
	if err != nil {
		return false, err
	}
	return n <= s.max, nil
}

func (s *Semaphore) Release(ctx context.Context) error { return s.rdb.Decr(ctx, s.key).Err() }

func redigo(c redis.Conn, work func()) error {
	n, err := redis.Int(c.Do("INCR", "workers")) // want `LL2012: INCR is used as a semaphore`
	if err != nil {
		return err
	}
	defer c.Do("DECR", "workers")
	if n > 4 {
		return errBusy
	}
	work()
	return nil
}

// A key of two functions that says what it is.
func startJob(ctx context.Context, rdb *goredis.Client, user string) bool {
	n := rdb.Incr(ctx, "running:"+user).Val() // want `LL2012`
	if n > 3 {
		return false
	}
	return true
}

func finishExport(ctx context.Context, rdb *goredis.Client, user string) {
	rdb.Decr(ctx, "running:"+user)
}

// Nothing is held: a window, a quota that takes back what failed, stock, statistics, references.

func allow(ctx context.Context, rdb *goredis.Client, user string) bool {
	n := rdb.Incr(ctx, "rate:"+user).Val()
	if n == 1 {
		rdb.Expire(ctx, "rate:"+user, time.Minute)
	}
	if n > 100 {
		rdb.Decr(ctx, "rate:"+user)
		return false
	}
	return true
}

func upload(ctx context.Context, rdb *goredis.Client, user string, store func() error) error {
	if rdb.Incr(ctx, "files:"+user).Val() > 100 {
		rdb.Decr(ctx, "files:"+user)
		return errBusy
	}
	if err := store(); err != nil {
		rdb.Decr(ctx, "files:"+user)
		return err
	}
	return nil
}

func remove(ctx context.Context, rdb *goredis.Client, user string) {
	rdb.Decr(ctx, "files:"+user)
}

func reserveCap(ctx context.Context, rdb *goredis.Client, tenant string) error {
	if rdb.Incr(ctx, "dailycap:"+tenant).Val() > 3 {
		rdb.Decr(ctx, "dailycap:"+tenant)
		return errBusy
	}
	return nil
}

func undoCap(ctx context.Context, rdb *goredis.Client, tenant string) {
	rdb.Decr(ctx, "dailycap:"+tenant)
}

func sell(ctx context.Context, rdb *goredis.Client, sku string) bool {
	if rdb.Incr(ctx, "stock:sold:"+sku).Val() > 50 {
		rdb.Decr(ctx, "stock:sold:"+sku)
		return false
	}
	return true
}

func unsell(ctx context.Context, rdb *goredis.Client, sku string) {
	rdb.Decr(ctx, "stock:sold:"+sku)
}

func gauge(ctx context.Context, rdb *goredis.Client, work func()) {
	rdb.Incr(ctx, "active")
	defer rdb.Decr(ctx, "active")
	work()
}

func opened(ctx context.Context, rdb *goredis.Client, start, work func()) {
	if rdb.Incr(ctx, "users").Val() == 1 {
		start()
	}
	defer rdb.Decr(ctx, "users")
	work()
}

type counter struct{ rdb *goredis.Client }

func (c *counter) Incr(ctx context.Context, key string, max int64) (int64, error) {
	n := c.rdb.Incr(ctx, key).Val()
	if n > max {
		return 0, errBusy
	}
	return n, nil
}

func (c *counter) Decr(ctx context.Context, key string) { c.rdb.Decr(ctx, key) }
