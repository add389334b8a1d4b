package jobs_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) jobs.Store { return jobs.NewMemoryStore() })
}

func TestRedisStore(t *testing.T) {
	server := testenv.Redis(t)
	n := 0
	storetest.Run(t, func(t *testing.T) jobs.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { client.Close() })
		n++
		return jobs.NewRedisStore(client, fmt.Sprintf("n{%d}", n))
	})
}
