package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// replicaError says that a server takes no writes.
type replicaError struct{ master string }

func (e *replicaError) Error() string {
	return fmt.Sprintf("is a read-only replica%s; locks are kept by the master: give its address, or "+
		"redis+sentinel:// or redis+cluster://, which find it", e.master)
}

// examine looks at role and eviction policy. What the user may not ask is passed over.
func (s *Store) examine(ctx context.Context) error {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.examineServer(ctx, s.client)
	}
	var mu sync.Mutex
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		info, err := node.Info(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		s.judgePolicy(node.Options().Addr, infoOf(info))
		if isReply(err) {
			return nil
		}
		return err
	})
}

func (s *Store) examineServer(ctx context.Context, client redis.UniversalClient) error {
	text, err := client.Info(ctx).Result()
	if isReply(err) {
		return s.tryWrite(ctx)
	}
	if err != nil {
		return err
	}
	info := infoOf(text)
	if info["role"] == "slave" && info["slave_read_only"] != "0" {
		return &replicaError{master: " of " + net.JoinHostPort(info["master_host"], info["master_port"])}
	}
	s.judgePolicy("", info)
	return nil
}

// tryWrite is for users that may not use INFO. The key is one that the rules for the default namespace allow, and no
// lock's.
func (s *Store) tryWrite(ctx context.Context) error {
	err := s.client.Del(ctx, "lock:{lockgen}:probe").Err()
	switch {
	case errorCode(err) == "READONLY":
		return &replicaError{}
	case isReply(err):
		return nil
	}
	return err
}

// judgePolicy remembers a warning for the Locker's log.
func (s *Store) judgePolicy(addr string, info map[string]string) {
	policy := info["maxmemory_policy"]
	if policy == "" || policy == "noeviction" {
		return
	}
	attrs := []slog.Attr{
		slog.String("maxmemory-policy", policy), slog.String("maxmemory", info["maxmemory_human"]),
	}
	if addr != "" {
		attrs = append(attrs, slog.String("server", addr))
	}
	s.findings = append(s.findings, finding{
		"redis evicts keys when its memory is full, locks before others, as they expire; " +
			"set maxmemory-policy noeviction", attrs,
	})
}

// infoOf reads the answer of INFO.
func infoOf(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}
