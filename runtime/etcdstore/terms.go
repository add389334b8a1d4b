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
func (t *terms) saw(h *pb.ResponseHeader) { t.raise(h.GetRaftTerm()) }

func (t *terms) raise(term uint64) {
	for {
		latest := t.latest.Load()
		if term <= latest || t.latest.CompareAndSwap(latest, term) {
			return
		}
	}
}

// granted takes the term from the answer to a write that was sent when another one was known. In one history it is not a lower
// one. A cluster that was restored from a snapshot, or that is another one, begins with lower ones.
func (t *terms) granted(before, after uint64) {
	if after < before {
		t.latest.CompareAndSwap(before, after)
	} else {
		t.raise(after)
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
