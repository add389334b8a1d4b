package etcdstore

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// maxCounted is how many of those who hold a lock together are counted.
const maxCounted = 1000

// busy says who holds a lock. If several may, they are counted, which costs a read. head did hold it, and may have gone
// since. The error is for one that cannot be held by anybody.
func (s *session) busy(ctx context.Context, key string, head *mvccpb.KeyValue) (*lockrt.BusyError, error) {
	e := entryOf(head)
	if e.foreign() {
		return nil, errForeign(head)
	}
	busy := &lockrt.BusyError{Key: key, Holder: e.Node, Remaining: e.remaining()}
	if !e.shared() {
		return busy, nil
	}
	busy.Holders = 1
	r, err := attempt(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.lock(key), oldest(maxCounted)...)
	})
	if err != nil {
		return busy, nil
	}
	for i, kv := range r.Kvs {
		other := entryOf(kv)
		if !other.In {
			break
		}
		if i == 0 {
			busy.Holder, busy.Remaining = other.Node, other.remaining()
		}
		if busy.Holder == "" {
			busy.Holder = other.Node
		}
		busy.Holders, busy.Remaining = i+1, other.until(busy.Remaining, other.remaining())
	}
	return busy, nil
}
