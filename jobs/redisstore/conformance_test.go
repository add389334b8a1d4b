package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/redisstore"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	n := 0
	storetest.Run(t, func(t *testing.T) jobs.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		n++
		return redisstore.New(client, fmt.Sprintf("n{%d}", n))
	})
}

// storeACL is what the package comment says that the store needs.
const storeACL = "~app:jobs:* resetchannels -@all +eval +evalsha +time +exists +pexpire " +
	"+hget +hset +hsetnx +hmget +hdel +hexists +hkeys +hvals +hgetall +hincrby +lpush +lrem +ltrim +lrange " +
	"+zadd +zrem +zincrby +zcard +zcount +zlexcount +zscore +zmscore +zrange +zrevrange " +
	"+zrangebyscore +zrangebylex +zrevrangebylex +zremrangebyscore"

// TestStore_acl passes the suite as a user who may do that and nothing else.
func TestStore_acl(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer admin.Close()
	ctx := context.Background()
	rule := []any{"acl", "setuser", "jobs", "on", ">secret"}
	for _, word := range strings.Fields(storeACL) {
		rule = append(rule, word)
	}
	if err := admin.Do(ctx, rule...).Err(); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) jobs.Store {
		if err := admin.FlushDB(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{
			Addr: server.Addr(), Username: "jobs", Password: "secret", DisableIdentity: true,
		})
		t.Cleanup(func() { client.Close() })
		return redisstore.New(client, "app")
	})
}
