package testenv

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

	cfg SentinelConfig
}

// SentinelConfig says what clients must send with AUTH. The zero value asks
// nobody for anything.
type SentinelConfig struct {
	// Password is that of the master and the replica.
	Password string

	// SentinelPassword is that of the sentinels.
	SentinelPassword string
}

// Sentinel starts them for one test and returns when the sentinels know each
// other and the replica. At most one config may be given.
func Sentinel(t testing.TB, config ...SentinelConfig) *RedisSentinel {
	t.Helper()
	s := &RedisSentinel{cfg: optional(t, config)}
	// A master that comes back after a failover is a replica: it has to know the password too.
	server := RedisConfig{Password: s.cfg.Password}
	if s.cfg.Password != "" {
		server.Args = []string{"--masterauth", s.cfg.Password}
	}
	s.Master = Redis(t, server)
	host, port, _ := net.SplitHostPort(s.Master.Addr())
	server.Args = append(slices.Clone(server.Args), "--replicaof", host+" "+port)
	s.Replica = Redis(t, server)
	for range 3 {
		// A sentinel keeps its state in its configuration file.
		conf := filepath.Join(t.TempDir(), "sentinel.conf")
		if err := os.WriteFile(conf, []byte(s.sentinelFile(host, port)), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Sentinels = append(s.Sentinels, Redis(t, RedisConfig{sentinelFile: conf, Password: s.cfg.SentinelPassword}))
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

func (s *RedisSentinel) sentinelFile(host, port string) string {
	lines := []string{
		"sentinel monitor " + SentinelMaster + " " + host + " " + port + " 2",
		"sentinel down-after-milliseconds " + SentinelMaster + " 500",
		"sentinel failover-timeout " + SentinelMaster + " 3000",
	}
	if s.cfg.Password != "" {
		lines = append(lines, "sentinel auth-pass "+SentinelMaster+" "+strconv.Quote(s.cfg.Password))
	}
	if s.cfg.SentinelPassword != "" {
		lines = append(lines, "requirepass "+strconv.Quote(s.cfg.SentinelPassword)) // also what they send each other
	}
	return strings.Join(lines, "\n") + "\n"
}

// awaitQuorum waits until a sentinel would be able to fail over.
func awaitQuorum(ctx context.Context, sentinel *RedisServer) error {
	for {
		_, err := sentinel.askOnce(ctx, "SENTINEL", "CKQUORUM", SentinelMaster)
		info, infoErr := sentinel.askOnce(ctx, "INFO", "sentinel")
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

// URL returns the addresses as redis+sentinel://…/mymaster/0, with the passwords if there are any.
func (s *RedisSentinel) URL() string {
	user, query := "", ""
	if s.cfg.Password != "" {
		user = url.UserPassword("", s.cfg.Password).String() + "@"
	}
	if s.cfg.SentinelPassword != "" {
		query = "?" + url.Values{"sentinel_password": {s.cfg.SentinelPassword}}.Encode()
	}
	return "redis+sentinel://" + user + strings.Join(s.Addrs(), ",") + "/" + SentinelMaster + "/0" + query
}

// Addrs returns the addresses of the sentinels.
func (s *RedisSentinel) Addrs() []string {
	var addrs []string
	for _, sentinel := range s.Sentinels {
		addrs = append(addrs, sentinel.Addr())
	}
	return addrs
}
