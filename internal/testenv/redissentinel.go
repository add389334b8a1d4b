package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SentinelMaster is the name under which the sentinels know the master.
const SentinelMaster = "mymaster"

// RedisSentinel is a master, its replica, and three sentinels that fail over
// when the master has not answered for half a second.
type RedisSentinel struct {
	Master, Replica *RedisServer
	Sentinels       []*RedisServer
}

// Sentinel starts them for one test and returns when the sentinels know each
// other and the replica.
func Sentinel(t testing.TB) *RedisSentinel {
	t.Helper()
	s := &RedisSentinel{Master: Redis(t)}
	host, port, _ := net.SplitHostPort(s.Master.Addr())
	s.Replica = Redis(t, RedisConfig{Args: []string{"--replicaof", host + " " + port}})
	for range 3 {
		conf := filepath.Join(t.TempDir(), "sentinel.conf")
		text := fmt.Sprintf("sentinel monitor %s %s %s 2\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
			SentinelMaster, host, port, SentinelMaster, SentinelMaster)
		// A sentinel keeps its state in its configuration file.
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Sentinels = append(s.Sentinels, Redis(t, RedisConfig{sentinelFile: conf}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, sentinel := range s.Sentinels {
		if err := awaitQuorum(ctx, sentinel); err != nil {
			t.Fatalf("testenv: sentinel %s: %v", sentinel.Addr(), err)
		}
	}
	return s
}

// awaitQuorum waits until a sentinel would be able to fail over.
func awaitQuorum(ctx context.Context, sentinel *RedisServer) error {
	for {
		_, err := askOnce(ctx, sentinel.Addr(), "SENTINEL", "CKQUORUM", SentinelMaster)
		info, infoErr := askOnce(ctx, sentinel.Addr(), "INFO", "sentinel")
		if err == nil && infoErr == nil && strings.Contains(info, "slaves=1,sentinels=3") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %v; it says: %s", ctx.Err(), err, info)
		case <-time.After(pollEvery):
		}
	}
}

// URL returns the addresses as redis+sentinel://…/mymaster/0.
func (s *RedisSentinel) URL() string {
	return "redis+sentinel://" + strings.Join(s.Addrs(), ",") + "/" + SentinelMaster + "/0"
}

// Addrs returns the addresses of the sentinels.
func (s *RedisSentinel) Addrs() []string {
	var addrs []string
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr())
	}
	return addrs
}
