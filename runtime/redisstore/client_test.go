package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// wrapped is a client of the application's own type.
type wrapped struct{ *redis.ClusterClient }

func TestStore_Open_clients(t *testing.T) {
	const nowhere = "127.0.0.1:1"
	universal := func(o redis.UniversalOptions) redis.UniversalClient { return redis.NewUniversalClient(&o) }
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": nowhere, "b": nowhere}})
	for name, c := range map[string]struct {
		client redis.UniversalClient
		want   string // in the error; none if it is empty
	}{
		"single":            {redis.NewClient(&redis.Options{Addr: nowhere}), ""},
		"cluster":           {cluster, ""},
		"sentinel":          {redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{nowhere}}), ""},
		"universal":         {universal(redis.UniversalOptions{Addrs: []string{nowhere}}), ""},
		"universal cluster": {universal(redis.UniversalOptions{Addrs: []string{nowhere}, IsClusterMode: true}), ""},
		"universal master":  {universal(redis.UniversalOptions{Addrs: []string{nowhere}, MasterName: "m"}), ""},
		"ring":              {ring, "*redis.Ring"},
		"wrapped cluster":   {wrapped{cluster}, "AddHook"},
		"wrapped ring":      {struct{ redis.UniversalClient }{ring}, "AddHook"},
		"none":              {nil, "no client"},
		"nil client":        {(*redis.Client)(nil), "no client"},
		"nil cluster":       {(*redis.ClusterClient)(nil), "no client"},
	} {
		var log testsync.Log
		locks, err := lockrt.New(redisstore.New(c.client, redisstore.Config{}), lockrt.Config{Logger: log.Logger()})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want ErrOptions with %q", name, err, c.want)
		}
		if err == nil {
			if err := locks.Close(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			_ = c.client.Close()
		}
	}
	_ = ring.Close()
}

// A caller's cluster client that would not find a new master is told of once, one that would is not.
func TestStore_Open_warnsOfSlowReload(t *testing.T) {
	const nowhere, warning = "127.0.0.1:1", "ClusterStateReloadInterval"
	for name, c := range map[string]struct {
		client *redis.ClusterClient
		warned int
	}{
		"default": {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}}), 1},
		"quick": {redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{nowhere}, ClusterStateReloadInterval: 2 * time.Second,
		}), 0},
		"told by sentinels": {redis.NewFailoverClusterClient(&redis.FailoverOptions{
			MasterName: "m", SentinelAddrs: []string{nowhere},
		}), 0},
	} {
		var log testsync.Log
		locks, err := lockrt.New(redisstore.New(c.client, redisstore.Config{}), lockrt.Config{Logger: log.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(locks.Close(t.Context()), c.client.Close()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), warning); n != c.warned {
			t.Errorf("%s: %d warnings, want %d:\n%s", name, n, c.warned, log.String())
		}
	}
	cluster := testenv.Cluster(t, 1)
	var log testsync.Log
	if err := useLock(t.Context(), cluster.URL(), log.Logger()); err != nil || strings.Contains(log.String(), warning) {
		t.Errorf("a client made by URL: %v, log %s", err, log.String())
	}
}

// What the clients of two Lockers have to say is in the log of each, and what others' have is where it was.
func TestClientLog(t *testing.T) {
	t.Cleanup(func() { redis.SetLogger(&clientLog) })
	ctx := testContext(t)
	servers := map[string]func(t *testing.T) (string, *testenv.RedisServer){
		"single": func(t *testing.T) (string, *testenv.RedisServer) {
			server := testenv.Redis(t)
			return server.URL(), server
		},
		"cluster": func(t *testing.T) (string, *testenv.RedisServer) {
			cluster := testenv.Cluster(t, 1)
			return cluster.URL(), cluster.Nodes[0]
		},
		"sentinel": func(t *testing.T) (string, *testenv.RedisServer) {
			sentinel := testenv.Sentinel(t)
			sentinel.Sentinels[0].Kill() // a line of the first contact, and of none of ours
			return sentinel.URL(), sentinel.Master
		},
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			var others testsync.Log
			redis.SetLogger(redisstore.NewClientLogs(&others))
			url, server := start(t)
			other := testenv.Redis(t)
			var log, otherLog testsync.Log
			locks, err := lockrt.Open(ctx, url, lockrt.Config{Logger: log.Logger()})
			if err != nil {
				t.Fatal(err)
			}
			second, err := lockrt.Open(ctx, other.URL(), lockrt.Config{Logger: otherLog.Logger()})
			if err != nil {
				t.Fatal(err)
			}
			mine := newClient(t, server)
			server.Kill()
			const line = "failed to dial"
			said := func(log *testsync.Log, addr string) bool {
				return strings.Contains(log.String(), line) && strings.Contains(log.String(), addr)
			}
			for !said(&log, server.Addr()) {
				lease, err := locks.TryAcquire(ctx, "k", lockrt.Options{TTL: time.Second})
				if ctx.Err() != nil {
					t.Fatalf("the Locker's log has no line of its client, which says %v:\n%s", err, log.String())
				}
				_ = lease.Release(ctx)
			}
			if said(&others, server.Addr()) {
				t.Errorf("a line of the Locker's client went to the others:\n%s", others.String())
			}
			_ = mine.Ping(ctx).Err()
			testsync.Eventually(t, "the application's client says so to its own log", func() bool {
				return said(&others, server.Addr())
			})
			if !strings.Contains(others.String(), "pool.go:") {
				t.Errorf("the line does not say where it is from:\n%s", others.String())
			}
			if strings.Contains(otherLog.String(), line) {
				t.Errorf("the other Locker's log has a line of the first's client:\n%s", otherLog.String())
			}
			_ = locks.Close(context.Background())
			_ = second.Close(context.Background())
		})
	}
}
