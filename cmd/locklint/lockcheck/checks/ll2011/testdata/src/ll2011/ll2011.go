package ll2011

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var errBusy = errors.New("busy")

func withExpire(ctx context.Context, rdb *goredis.Client, work func()) error {
	n, err := rdb.Incr(ctx, "lock:a").Result() // want `LL2011: Incr is used as a lock: every loser runs the Expire at line 20 too and prolongs`
	if err != nil {
		return err
	}
	rdb.Expire(ctx, "lock:a", time.Minute)
	if n != 1 {
		return errBusy
	}
	defer rdb.Del(ctx, "lock:a")
	work()
	return nil
}

func withMulti(ctx context.Context, rdb *goredis.Client, work func()) error {
	pipe := rdb.TxPipeline()
	n := pipe.Incr(ctx, "lock:b") // want `LL2011: Incr is used as a lock: every loser runs the Expire`
	pipe.Expire(ctx, "lock:b", time.Minute)
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if n.Val() > 1 {
		return errBusy
	}
	work()
	rdb.Del(ctx, "lock:b")
	return nil
}

func secondStep(ctx context.Context, rdb *goredis.Client, work func()) {
	if rdb.Incr(ctx, "busy:c").Val() == 1 { // want `LL2011: Incr is used as a lock: losers raise the count too, and the Expire at line 46 runs in a second step`
		rdb.Expire(ctx, "busy:c", time.Minute)
		defer rdb.Del(ctx, "busy:c")
		work()
	}
}

func countedDown(ctx context.Context, rdb *goredis.Client, work func()) error {
	if rdb.Incr(ctx, "busy:d").Val() > 1 { // want `LL2011: Incr is used as a lock: without an expiry a crash before the Decr`
		return errBusy
	}
	defer rdb.Decr(ctx, "busy:d")
	work()
	return nil
}

type Lock struct {
	rdb *goredis.Client
	key string
}

func (l *Lock) Lock(ctx context.Context) bool {
	return l.rdb.Incr(ctx, l.key).Val() == 1 // want `LL2011: Incr is used as a lock`
}

func (l *Lock) Unlock(ctx context.Context) { l.rdb.Del(ctx, l.key) }

func redigo(c redis.Conn, work func()) error {
	n, err := redis.Int(c.Do("INCR", "lock:r")) // want `LL2011: INCR is used as a lock`
	if err != nil || n != 1 {
		return errBusy
	}
	defer c.Do("DEL", "lock:r")
	work()
	return nil
}

func builder(ctx context.Context, c rueidis.Client, work func()) error {
	n, err := c.Do(ctx, c.B().Incr().Key("lock:u").Build()).AsInt64() // want `LL2011: INCR is used as a lock`
	if err != nil || n != 1 {
		return errBusy
	}
	defer c.Do(ctx, c.B().Del().Key("lock:u").Build())
	work()
	return nil
}

// Counters: throttling, attempts, a limit, references, statistics.

func allow(ctx context.Context, rdb *goredis.Client, user string) bool {
	n := rdb.Incr(ctx, "rate:"+user).Val()
	if n == 1 {
		rdb.Expire(ctx, "rate:"+user, time.Minute)
	}
	return n <= 100
}

func login(ctx context.Context, rdb *goredis.Client, user string, check func() bool) bool {
	n := rdb.Incr(ctx, "logins:"+user).Val()
	if n == 1 {
		rdb.Expire(ctx, "logins:"+user, time.Hour)
	}
	if n > 5 || !check() {
		return false
	}
	rdb.Del(ctx, "logins:"+user)
	return true
}

func semaphore(ctx context.Context, rdb *goredis.Client, work func()) error {
	if rdb.Incr(ctx, "slots").Val() > 10 {
		rdb.Decr(ctx, "slots")
		return errBusy
	}
	defer rdb.Decr(ctx, "slots")
	work()
	return nil
}

func opened(ctx context.Context, rdb *goredis.Client, start, work func()) {
	if rdb.Incr(ctx, "users").Val() == 1 {
		start()
	}
	defer rdb.Decr(ctx, "users")
	work()
}

func visit(ctx context.Context, rdb *goredis.Client, page string) int64 {
	return rdb.Incr(ctx, "lock:visits:"+page).Val()
}

func once(ctx context.Context, rdb *goredis.Client, id string) bool {
	return rdb.Incr(ctx, "seen:"+id).Val() == 1
}
