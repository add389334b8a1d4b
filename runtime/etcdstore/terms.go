package etcdstore

import (
	"context"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"
)

// terms is the latest term of which a server has applied an entry, as far as is known. Each leader of etcd has a term of its
// own, and begins it with an entry, so that no former one has anything agreed on after that.
type terms struct {
	latest atomic.Uint64 // 0: none is known
}

// saw takes the term from an answer.
func (t *terms) saw(h *pb.ResponseHeader) {
	for term := h.GetRaftTerm(); ; {
		latest := t.latest.Load()
		if term <= latest || t.latest.CompareAndSwap(latest, term) {
			return
		}
	}
}

// known returns the latest term, and asks for one if none is known.
func (t *terms) known(ctx context.Context, s *session) (uint64, error) {
	if latest := t.latest.Load(); latest != 0 {
		return latest, nil
	}
	_, _, err := again(ctx, func(ctx context.Context) (*etcd.GetResponse, error) { return s.count(ctx) })
	return t.latest.Load(), err
}
