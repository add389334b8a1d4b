package zkstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/percent"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/listing"
)

const (
	maxWaitersListed = 100
	// listChunk is how many locks of a list are looked at in one call.
	listChunk = 500
	// cursorPrefix begins every cursor; what follows is the escaped key of the last lock of the page before.
	cursorPrefix = "after "
)

// List implements lockrt.Session, in calls of a bounded length.
func (s *session) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	return listing.All(ctx, s, prefix, listChunk)
}

// ListPage implements lockrt.Pager. The pages are in the order of the escaped keys. ZooKeeper has no pages: each call
// reads the names of all locks that anybody wants, and then looks at those of the page.
func (s *session) ListPage(ctx context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	last, ok := strings.CutPrefix(cursor, cursorPrefix)
	if _, err := percent.Unescape(last); cursor != "" && (!ok || err != nil || !strings.HasPrefix(last, escape(prefix))) {
		return nil, "", fmt.Errorf("%w %q", lockrt.ErrCursor, cursor)
	}
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	page, next, err := s.page(limited, escape(prefix), last, limit)
	return page, next, explain(ctx, began, err)
}

// page lists locks whose escaped keys begin with prefix and come after last.
func (s *session) page(ctx context.Context, prefix, last string, limit int) ([]lockrt.LockInfo, string, error) {
	l, err := s.link(ctx)
	if err == nil {
		err = l.sync(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	names, err := l.children(ctx, s.space.locks())
	if err != nil {
		return nil, "", err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) || name <= last })
	slices.Sort(names)
	var page []lockrt.LockInfo
	for looked := 0; len(names) > 0; {
		if len(page) >= limit || looked >= listChunk {
			listing.Sort(page)
			return page, cursorPrefix + last, nil
		}
		n := min(len(names), max(limit-len(page), 1), listChunk)
		infos, err := each(ctx, l, names[:n], func(ctx context.Context, name string) (lockrt.LockInfo, error) {
			key, err := percent.Unescape(name)
			if err != nil {
				return lockrt.LockInfo{}, nil // not one of ours
			}
			return l.info(ctx, key)
		})
		if err != nil {
			return nil, "", err
		}
		for _, info := range infos {
			if info.Key != "" {
				page = append(page, info)
			}
		}
		last, names, looked = names[n-1], names[n:], looked+n
	}
	listing.Sort(page)
	return page, "", nil
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	l, err := s.link(limited)
	if err == nil {
		err = l.sync(limited)
	}
	var info lockrt.LockInfo
	if err == nil {
		info, err = l.info(limited, key)
	}
	switch {
	case err != nil:
		return lockrt.LockInfo{}, explain(ctx, began, err)
	case info.Key == "":
		return lockrt.LockInfo{}, lockrt.ErrNotHeld
	}
	return info, nil
}

// info describes a lock. Nobody holds it if the description has no key.
func (l *link) info(ctx context.Context, key string) (info lockrt.LockInfo, err error) {
	lock := l.s.space.lock(key)
	names, err := l.children(ctx, lock)
	if err != nil {
		return info, err
	}
	contenders, kept := contendersOf(names)
	if contenders, err = l.order(ctx, lock, contenders); err != nil {
		return info, err
	}
	var paths []string
	for _, name := range kept {
		paths = append(paths, lock+"/"+name)
	}
	for _, c := range contenders[:min(len(contenders), maxWaitersListed+1)] {
		paths = append(paths, lock+"/"+c.name)
	}
	nodes, err := each(ctx, l, paths, func(ctx context.Context, path string) (*node, error) {
		n, err := l.get(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		return &n, err
	})
	for i, n := range nodes {
		if n == nil || err != nil {
			continue
		}
		e := entryOf(n.data)
		id, ok := l.s.idOf(key, paths[i])
		remaining, isKept := e.ttl(), i < len(kept)
		if isKept {
			if remaining, err = l.left(ctx, *n); err != nil {
				return info, err
			}
		}
		switch {
		case !ok || isKept && remaining <= 0:
		case info.Key != "":
			info.Waiters = append(info.Waiters, lockrt.Waiter{Node: e.Node, ID: id})
		default:
			info = l.head(key, id, e, *n, remaining)
		}
	}
	return info, err
}

// head describes a lock by the node that holds it.
func (l *link) head(key, id string, e entry, n node, remaining time.Duration) lockrt.LockInfo {
	info := lockrt.LockInfo{
		Key: key, Node: e.Node, ID: id, Fence: lockrt.FenceOf(l.epoch(n.stat.Czxid)), Since: time.UnixMicro(e.At),
		Remaining: max(remaining, time.Millisecond),
	}
	if e.Kept {
		info.ID, info.Fence = "", lockrt.FenceOf(e.Epoch)
	}
	return info
}

// idOf is the ID of the lease of a contender, or of the one that was kept.
func (s *session) idOf(key, path string) (id string, ok bool) {
	contenders, kept := contendersOf([]string{path[len(s.space.lock(key))+1:]})
	switch {
	case len(contenders) == 1:
		return contenders[0].id, true
	case len(kept) == 1:
		id, err := percent.Unescape(kept[0][len(keptMark):])
		return id, err == nil
	}
	return "", false
}
