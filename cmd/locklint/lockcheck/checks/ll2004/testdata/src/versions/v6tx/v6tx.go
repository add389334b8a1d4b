package v6tx

import (
	"time"

	"github.com/go-redis/redis"
)

// In a Tx of this version Pipelined is a transaction.
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
			p.Del("lock:watched")
			return nil
		})
		return err
	}, "lock:watched")
}

func watchedPipeline(rdb *redis.Client, token string, work func()) error {
	if !rdb.SetNX("lock:watched2", token, time.Minute).Val() {
		return nil
	}
	work()
	return rdb.Watch(func(tx *redis.Tx) error {
		if tx.Get("lock:watched2").Val() != token {
			return nil
		}
		pipe := tx.Pipeline()
		pipe.Del("lock:watched2")
		_, err := pipe.Exec()
		return err
	}, "lock:watched2")
}
