package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	// pageScans bounds the SCANs of one page, so that it ends soon on a server full of other keys. Such a page may be
	// empty.
	pageScans = 64
	// maxPageCount bounds the COUNT of such a SCAN. COUNT grows while SCANs find no lock.
	maxPageCount = 1000
	// inspectTrip bounds the locks that are inspected in one round trip.
	inspectTrip = 1000
)

// ListPage implements lockrt.Pager with SCAN, one master of a cluster after the other. It asks only for the locks that
// it returns.
func (s *session) ListPage(ctx context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	at, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	names, next, err := s.pageNames(ctx, prefix, at, limit)
	if err != nil {
		return nil, "", explain(ctx, err)
	}
	infos, err := s.inspectAll(ctx, names)
	return infos, next, err
}

// pageNames returns the sorted names of about limit locks, and where to go on.
func (s *session) pageNames(ctx context.Context, prefix string, at scanCursor, limit int) ([]string, string, error) {
	masters, err := s.masters(ctx)
	if err != nil {
		return nil, "", err
	}
	masters = slices.DeleteFunc(masters, func(m master) bool { return m.addr < at.addr })
	if len(masters) > 0 && masters[0].addr != at.addr {
		at.scan = 0 // the cursor is of a master that is gone
	}
	var names []string
	count, pattern := int64(min(limit, maxPageCount)), s.space.pattern(prefix)
	for range pageScans {
		if len(masters) == 0 || len(names) >= limit {
			break
		}
		found, scan, err := s.scan(ctx, masters[0].client, at.scan, pattern, count)
		if err != nil {
			return nil, "", err
		}
		if len(found) == 0 {
			count = min(2*count, maxPageCount)
		}
		names = s.appendNames(names, found, prefix)
		if at.scan = scan; scan == 0 {
			masters = masters[1:]
		}
	}
	slices.Sort(names)
	names = slices.Compact(names) // SCAN may return a key more than once
	if len(masters) == 0 {
		return names, "", nil
	}
	at.addr = masters[0].addr
	return names, at.String(), nil
}

// master is a server that holds a part of the keys.
type master struct {
	addr   string // empty without a cluster
	client redis.Cmdable
}

// masters returns the servers to scan, in the order of their addresses.
func (s *session) masters(ctx context.Context) ([]master, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return []master{{client: s.client}}, nil
	}
	var mu sync.Mutex
	all := new([]master)
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := s.calls.Do(ctx, func() error {
		return cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			*all = append(*all, master{node.Options().Addr, node})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(*all, func(a, b master) int { return cmp.Compare(a.addr, b.addr) })
	return *all, nil
}

// scanCursor is where a page begins: SCAN's cursor on one master, as text "123@host:port".
type scanCursor struct {
	scan uint64
	addr string
}

func (c scanCursor) String() string { return strconv.FormatUint(c.scan, 10) + "@" + c.addr }

func parseCursor(text string) (c scanCursor, err error) {
	if text == "" {
		return c, nil
	}
	scan, addr, ok := strings.Cut(text, "@")
	if c.scan, err = strconv.ParseUint(scan, 10, 64); err != nil || !ok {
		return c, fmt.Errorf("%w %q", lockrt.ErrCursor, text)
	}
	c.addr = addr
	return c, nil
}

// inspectAll asks for the locks of these names and leaves out those that are free.
func (s *session) inspectAll(ctx context.Context, names []string) ([]lockrt.LockInfo, error) {
	infos := make([]lockrt.LockInfo, 0, len(names))
	for some := range slices.Chunk(names, inspectTrip) {
		calls := make([]call, len(some))
		for i, name := range some {
			calls[i] = s.inspectCall(name, maxHoldersListed)
		}
		trip, cancel := bounded(ctx)
		cmds := s.calls.pipeline(trip, s.client, inspectScript, calls)
		cancel()
		for i, cmd := range cmds {
			info, err := parseInfo(some[i], cmd)
			switch {
			case errors.Is(err, lockrt.ErrNotHeld): // freed since the scan
			case err != nil:
				return nil, explain(ctx, err)
			default:
				infos = append(infos, info)
			}
		}
	}
	return infos, nil
}
