package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	maxWaitersListed = 100
	maxHoldersListed = 100 // in lists; Inspect returns all
	allHolders       = -1
	scanCount        = 1000
)

// List implements lockrt.Session with SCAN, on every master of a cluster. A server that has much to look through may
// take long, but no answer does.
func (s *session) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	names, err := s.names(ctx, prefix)
	if err != nil {
		return nil, explain(ctx, err)
	}
	return s.inspectAll(ctx, names)
}

// names returns the sorted names of the locks that begin with prefix.
func (s *session) names(ctx context.Context, prefix string) ([]string, error) {
	masters, err := s.masters(ctx)
	if err != nil {
		return nil, err
	}
	found, errs := make([][]string, len(masters)), make([]error, len(masters))
	var wg sync.WaitGroup
	for i, m := range masters {
		wg.Go(func() { found[i], errs[i] = s.namesOn(ctx, m.client, prefix) })
	}
	wg.Wait()
	names := slices.Concat(found...)
	slices.Sort(names)
	return slices.Compact(names), errors.Join(errs...) // SCAN may return a key more than once
}

// namesOn returns the names of the locks on one server.
func (s *session) namesOn(ctx context.Context, client redis.Cmdable, prefix string) (names []string, err error) {
	for at := uint64(0); ; {
		keys, next, err := s.scan(ctx, client, at, s.space.pattern(prefix), scanCount)
		if err != nil {
			return nil, err
		}
		names = s.appendNames(names, keys, prefix)
		if at = next; at == 0 {
			return names, nil
		}
	}
}

// scan runs SCAN once.
func (s *session) scan(
	ctx context.Context, client redis.Cmdable, at uint64, pattern string, count int64,
) (keys []string, next uint64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	type page struct {
		keys []string
		next uint64
	}
	got := new(page)
	err = s.calls.Do(ctx, func() (err error) {
		got.keys, got.next, err = client.Scan(ctx, at, pattern, count).Result()
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return got.keys, got.next, nil
}

// appendNames adds the names of the locks among keys.
func (s *session) appendNames(names, keys []string, prefix string) []string {
	for _, key := range keys {
		if name, ok := s.space.name(key); ok && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	call, cancel := bounded(ctx)
	defer cancel()
	c := s.inspectCall(key, allHolders)
	info, err := parseInfo(key, s.calls.run(call, s.client, inspectScript, c.Keys, c.Args...))
	if err != nil {
		return lockrt.LockInfo{}, explain(ctx, err)
	}
	return info, nil
}

func (s *session) inspectCall(name string, holders int) call {
	keys := s.space.keys(name)
	return call{
		Keys: []string{keys.lock, keys.queue, keys.waiters, keys.holders(), keys.held()},
		Args: []any{maxWaitersListed, holders},
	}
}
