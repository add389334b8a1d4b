package redisstore_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		beChild(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// newClient returns a client of a server of its own, closed with the test.
func newClient(t testing.TB, server *testenv.RedisServer) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestStore_conformance(t *testing.T) {
	server := testenv.Redis(t)
	storetest.Run(t, func(t *testing.T) lockrt.Store {
		return redisstore.New(newClient(t, server), redisstore.Config{})
	})
}
