// Package redisstore keeps jobs in Redis 6.2 or later, or Valkey, single or cluster, through go-redis.
//
// Importing the package makes it the default of jobs.Config.Store for locks in a runtime/redisstore, which it imports
// as well. Jobs are in the same Redis as the locks, under the same namespace.
//
// Every step is one Lua script (lua/*.lua; lua/lib.lua has the keys). All keys begin with the namespace and ":jobs:". A
// Redis user for the store may be restricted to
//
//	~lock:jobs:* resetchannels -@all +eval +evalsha +time +exists +pexpire
//	+hget +hset +hsetnx +hmget +hdel +hexists +hkeys +hvals +hgetall +hincrby +lpush +lrem +ltrim +lrange
//	+zadd +zrem +zincrby +zcard +zcount +zlexcount +zscore +zmscore +zrange +zrevrange
//	+zrangebyscore +zrangebylex +zrevrangebylex +zremrangebyscore
//
// and needs what the store of locks needs besides, if that is the same user.
package redisstore

import (
	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/redisstore"
)

func init() { jobs.RegisterStore(beside) }

// clienter is a store of locks in Redis.
type clienter interface {
	Client() redis.UniversalClient
}

func beside(locks *lockrt.Locker) (jobs.Store, error) {
	at, ok := locks.Store().(clienter)
	if !ok {
		return nil, nil
	}
	return New(at.Client(), locks.Namespace()), nil
}
