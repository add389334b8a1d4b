package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) jobs.Store { return jobs.NewMemoryStore() })
}

func TestRedisStore(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	n := 0
	storetest.Run(t, func(t *testing.T) jobs.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		n++
		return jobs.NewRedisStore(client, fmt.Sprintf("n{%d}", n))
	})
}

// storeACL is what the comment of NewRedisStore says that the store needs.
const storeACL = "~app:jobs:* resetchannels -@all +eval +evalsha +time +exists +pexpire " +
	"+hget +hset +hsetnx +hmget +hdel +hexists +hkeys +hvals +hgetall +hincrby +lpush +lrem +ltrim +lrange " +
	"+zadd +zrem +zincrby +zcard +zcount +zlexcount +zscore +zmscore +zrange +zrevrange " +
	"+zrangebyscore +zrangebylex +zrevrangebylex +zremrangebyscore"

// TestRedisStore_acl passes the suite as a user who may do that and nothing else.
func TestRedisStore_acl(t *testing.T) {
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
		return jobs.NewRedisStore(client, "app")
	})
}
