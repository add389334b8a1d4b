package etcdstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/percent"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/listing"
)

const (
	// maxListed is how many holders and how many waiters of a lock a list has.
	maxListed = 100
	// listChunk is how many contenders one request of a list reads.
	listChunk = 500
	// cursorPrefix begins every cursor; what follows is the escaped key of the last lock of the page before.
	cursorPrefix = "after "
)

// List implements lockrt.Session, in requests of a bounded size.
func (s *session) List(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
	return listing.All(ctx, s, prefix, listChunk)
}

// ListPage implements lockrt.Pager. The pages are in the order of the escaped keys.
func (s *session) ListPage(ctx context.Context, prefix, cursor string, limit int) ([]lockrt.LockInfo, string, error) {
	from := s.space.locks(prefix)
	end := etcd.GetPrefixRangeEnd(from)
	if cursor != "" {
		last, ok := strings.CutPrefix(cursor, cursorPrefix)
		if _, err := percent.Unescape(last); !ok || err != nil || !strings.HasPrefix(last, escape(prefix)) {
			return nil, "", fmt.Errorf("%w %q", lockrt.ErrCursor, cursor)
		}
		from = etcd.GetPrefixRangeEnd(s.space.locks("") + last + "/")
	}
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	g, err := s.known(limited)
	if err != nil {
		return nil, "", explain(ctx, began, err)
	}
	p := page{s: s, ground: g, limit: limit}
	for more := true; more; {
		r, _, err := repeat(limited, func(ctx context.Context) (*etcd.GetResponse, error) {
			return s.client.Get(ctx, from, etcd.WithRange(end), etcd.WithLimit(listChunk))
		})
		if err != nil {
			return nil, "", explain(ctx, began, err)
		}
		for _, kv := range r.Kvs {
			if !p.add(kv) {
				return p.done(true)
			}
		}
		if more = r.More && len(r.Kvs) > 0; more {
			from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
		}
	}
	return p.done(false)
}

// page collects locks from contenders in the order of their keys.
type page struct {
	s      *session
	ground ground
	limit  int
	locks  []lockrt.LockInfo
	last   string // the escaped key of the lock that is being collected
	group  []*mvccpb.KeyValue
}

// add takes the next contender. It reports false if it belongs to the next page.
func (p *page) add(kv *mvccpb.KeyValue) bool {
	lock, ok := p.s.space.lockOf(string(kv.Key))
	if !ok {
		return true // not one of ours
	}
	if lock != p.last {
		if p.flush(); len(p.locks) >= p.limit {
			return false
		}
		p.last = lock
	}
	p.group = append(p.group, kv)
	return true
}

func (p *page) flush() {
	if info, ok := p.s.info(p.ground, p.group, maxListed); ok {
		p.locks = append(p.locks, info)
	}
	p.group = nil
}

func (p *page) done(more bool) ([]lockrt.LockInfo, string, error) {
	p.flush()
	listing.Sort(p.locks)
	if more {
		return p.locks, cursorPrefix + p.last, nil
	}
	return p.locks, "", nil
}

// Inspect implements lockrt.Inspector.
func (s *session) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	g, err := s.known(limited)
	if err != nil {
		return lockrt.LockInfo{}, explain(ctx, began, err)
	}
	r, _, err := repeat(limited, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.lock(key), etcd.WithPrefix())
	})
	if err != nil {
		return lockrt.LockInfo{}, explain(ctx, began, err)
	}
	info, ok := s.info(g, r.Kvs, len(r.Kvs))
	if !ok {
		return lockrt.LockInfo{}, lockrt.ErrNotHeld
	}
	if oldest := r.Kvs[0]; entryOf(oldest).foreign() {
		return lockrt.LockInfo{}, errForeign(oldest)
	}
	return info, nil
}

// info describes the lock that all these contenders are for, with at most so many of its holders.
func (s *session) info(g ground, group []*mvccpb.KeyValue, most int) (info lockrt.LockInfo, ok bool) {
	slices.SortFunc(group, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	for i, kv := range group {
		lock, ok := s.space.lockOf(string(kv.Key))
		key, err := percent.Unescape(lock)
		if !ok || err != nil {
			return info, false
		}
		e := entryOf(kv)
		if i > 0 && !e.In {
			if len(info.Waiters) < maxListed {
				info.Waiters = append(info.Waiters, lockrt.Waiter{Node: e.Node, ID: e.ID, Mode: e.mode(), Permits: e.Permits})
			}
			continue
		}
		h := holderOf(g, e, kv)
		if i == 0 {
			info = lockrt.LockInfo{
				Key: key, Node: h.Node, ID: h.ID, Fence: h.Fence, Since: h.Since, Remaining: h.Remaining,
				Mode: e.mode(), Limit: e.Permits,
			}
		}
		if e.shared() && len(info.Holders) < most {
			info.Holders = append(info.Holders, h)
		}
		info.Remaining = e.until(info.Remaining, h.Remaining)
	}
	return info, len(group) > 0
}

func holderOf(g ground, e entry, kv *mvccpb.KeyValue) lockrt.Holder {
	h := lockrt.Holder{
		Node: e.Node, ID: e.ID, Fence: lockrt.FenceOf(g.epoch(e, kv.CreateRevision)), Slot: -1,
		Since: time.UnixMicro(e.At), Remaining: e.remaining(),
	}
	if e.Kept {
		h.ID = ""
	}
	if e.Permits > 0 {
		h.Slot = e.Slot
	}
	return h
}
