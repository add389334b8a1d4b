package v7tx

import (
	"time"

	"github.com/go-redis/redis/v7"
)

// In a Tx of this version Pipelined is none.
func watched(rdb *redis.Client, token string, work func()) error {
	if !rdb.SetNX("lock:watched", token, time.Minute).Val() {
		return nil
	}
	work()
	return rdb.Watch(func(tx *redis.Tx) error {
		if tx.Get("lock:watched").Val() != token {
			return nil
		}
		_, err := tx.Pipelined(func(p redis.Pipeliner) error {
			p.Del("lock:watched") // want `LL2004: .*WATCH protects only what runs between MULTI and EXEC`
			return nil
		})
		return err
	}, "lock:watched")
}
