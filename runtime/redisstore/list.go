package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	maxWaitersListed = 100
	scanCount        = 1000
)

// List implements lockrt.Session with SCAN, on every master of a cluster.
func (s *session) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	names, err := s.names(ctx, prefix)
	if err != nil {
		return nil, withContext(ctx, err)
	}
	return s.inspectAll(ctx, names)
}

// names returns the sorted names of the locks that begin with prefix.
func (s *session) names(ctx context.Context, prefix string) ([]string, error) {
	var (
		mu    sync.Mutex
		names []string
	)
	scan := func(ctx context.Context, client redis.Cmdable) error {
		it := client.Scan(ctx, 0, s.space.pattern(prefix), scanCount).Iterator()
		for it.Next(ctx) {
			if name, ok := s.space.name(it.Val()); ok && strings.HasPrefix(name, prefix) {
				mu.Lock()
				names = append(names, name)
				mu.Unlock()
			}
		}
		return it.Err()
	}
	var err error
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return scan(ctx, node) })
	} else {
		err = scan(ctx, s.client)
	}
	slices.Sort(names)
	return slices.Compact(names), err // SCAN may return a key twice
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	c := s.inspectCall(key)
	info, err := parseInfo(key, inspectScript.run(ctx, s.client, c.keys, c.args...))
	if err != nil {
		return lockrt.LockInfo{}, withContext(ctx, err)
	}
	return info, nil
}

func (s *session) inspectCall(name string) call {
	return call{keys: s.space.keys(name).all()[:3], args: []any{maxWaitersListed}}
}

// parseInfo reads the answer of inspect.lua.
func parseInfo(key string, cmd *redis.Cmd) (lockrt.LockInfo, error) {
	fields, err := cmd.StringSlice()
	if err != nil {
		return lockrt.LockInfo{}, err
	}
	if len(fields) == 0 {
		return lockrt.LockInfo{}, lockrt.ErrNotHeld
	}
	if len(fields)%2 == 0 {
		return lockrt.LockInfo{}, fmt.Errorf("the lock script inspect answered %q", fields)
	}
	epoch, err1 := strconv.ParseUint(fields[1], 10, 53)
	since, err2 := strconv.ParseInt(fields[2], 10, 64)
	remaining, err3 := strconv.ParseInt(fields[3], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil {
		return lockrt.LockInfo{}, fmt.Errorf("the lock script inspect answered %q: %w", fields, err)
	}
	info := lockrt.LockInfo{
		Key: key, ID: fields[0], Node: fields[4], Fence: lockrt.FenceOf(epoch),
		Since: time.UnixMicro(since), Remaining: time.Duration(remaining) * time.Millisecond,
	}
	if info.ID == "-" {
		info.ID = ""
	}
	for i := 5; i+1 < len(fields); i += 2 {
		// "<ttl> <channel> <node>"
		if entry := strings.SplitN(fields[i+1], " ", 3); len(entry) == 3 {
			info.Waiters = append(info.Waiters, lockrt.Waiter{ID: fields[i], Node: entry[2]})
		}
	}
	return info, nil
}

// Break implements lockrt.Breaker.
func (s *session) Break(ctx context.Context, b lockrt.Breaking) error {
	reason := fmt.Sprintf("broken by %s: %s", s.Node, b.Reason)
	broken, err := breakScript.run(ctx, s.client, s.space.keys(b.Key).all(), reason, s.retention.Milliseconds()).Int()
	if err != nil {
		return withContext(ctx, err)
	}
	if broken == 0 {
		return lockrt.ErrNotHeld
	}
	return nil
}
