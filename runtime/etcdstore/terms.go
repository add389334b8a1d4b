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

// saw takes the term from an answer to this session. If it is a later one than so far, all classes are aged.
func (s *session) saw(h *pb.ResponseHeader) {
	term := h.GetRaftTerm()
	s.store.terms.raise(term)
	if term <= s.term.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if term <= s.term.Load() {
		return
	}
	s.term.Store(term)
	for _, c := range s.every {
		if c.term < term {
			s.ageLocked(c)
		}
	}
}

func (t *terms) raise(term uint64) {
	for {
		latest := t.latest.Load()
		if term <= latest || t.latest.CompareAndSwap(latest, term) {
			return
		}
	}
}

// back takes the term from the answer to a write that was sent when a later one was known. That does not happen in one history:
// the cluster was restored from a snapshot, or it is another one.
func (t *terms) back(from, to uint64) { t.latest.CompareAndSwap(from, to) }

// known returns the latest term, and asks for one if none is known.
func (t *terms) known(ctx context.Context, s *session) (uint64, error) {
	if latest := t.latest.Load(); latest != 0 {
		return latest, nil
	}
	_, _, err := again(ctx, func(ctx context.Context) (*etcd.GetResponse, error) { return s.count(ctx) })
	return t.latest.Load(), err
}
