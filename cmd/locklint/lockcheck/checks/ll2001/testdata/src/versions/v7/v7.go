package v7

import (
	"time"

	"github.com/go-redis/redis/v7"
)

func run(rdb *redis.Client, work func()) error {
	if err := rdb.SetNX("lock:run", 1, time.Minute).Err(); err != nil { // want `LL2001: the outcome of SetNX is ignored`
		return err
	}
	defer rdb.Del("lock:run")
	work()
	return nil
}

func once(rdb *redis.Client) bool { return rdb.SetNX("seen", 1, time.Minute).Val() }
