package redisstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

func TestMain(m *testing.M) {
	storetest.BeProcess()
	beChaosProcess()
	if mode := os.Getenv(childEnv); mode != "" {
		beChild(mode)
		return
	}
	redis.SetLogger(&clientLog)
	goleak.VerifyTestMain(m)
}

// beChaosProcess is set where there are processes to kill and stop.
var beChaosProcess = func() {}

// clientLog is what the clients of all tests write to the log of their own.
var clientLog goRedisLog

type goRedisLog struct{ testsync.Log }

// Printf implements go-redis's logger.
func (l *goRedisLog) Printf(_ context.Context, format string, v ...any) {
	fmt.Fprintf(io.MultiWriter(l, os.Stderr), format+"\n", v...)
}

// newClient returns a client of its own, closed with the test.
func newClient(t testing.TB, server *testenv.RedisServer) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	opts.ContextTimeoutEnabled = true
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestStore_conformance(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	storetest.Run(t, func(t *testing.T) lockrt.Store {
		return redisstore.New(newClient(t, server), redisstore.Config{})
	}, storetest.Processes(func(*testing.T) string { return server.URL() }))
}

// Sessions that are in use for a while before they can be told anything find out by asking what they were not told.
func TestStore_conformance_subscribedLate(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	late := newProxy(t, server.Addr())
	late.set(func() {
		late.delay = func(request []byte) {
			if bytes.Contains(bytes.ToLower(request), []byte("subscribe")) {
				time.Sleep(300 * time.Millisecond)
			}
		}
	})
	storetest.Run(t, func(*testing.T) lockrt.Store { return redisstore.New(late.client(), redisstore.Config{}) }, storetest.Brief())
}
