package etcdstore

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// etcd reads and sorts all contenders of a lock to find the oldest of them, or the one before another. If each of a crowd asks
// for that, it is the square of the crowd. So those of one process who want the lock for themselves share what was read once.

// crowd is how many contenders are one.
const crowd = 64

// queue is all contenders of a lock at one revision. Nobody changes it.
type queue struct {
	contenders []*mvccpb.KeyValue // in order, without their values
	ranks      map[string]int     // by their names
	head       *mvccpb.KeyValue   // the first, with its value
}

func (s *session) askTogether() {
	s.queues = &waits.Together[*queue]{
		Start: s.calls.Start, Read: s.readQueue, Kept: askAgain,
		Keep: func(q *queue) bool { return len(q.contenders) >= crowd },
	}
}

func (s *session) readQueue(lock string) (*queue, error) {
	ctx, cancel := bounded(s.ctx)
	defer cancel()
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).Then(
			etcd.OpGet(lock, etcd.WithPrefix(), etcd.WithSort(etcd.SortByCreateRevision, etcd.SortAscend), etcd.WithKeysOnly()),
			etcd.OpGet(lock, first...),
		).Commit()
	})
	if err != nil {
		return nil, err
	}
	q := &queue{contenders: r.Responses[0].GetResponseRange().GetKvs(), ranks: make(map[string]int)}
	for i, kv := range q.contenders {
		q.ranks[string(kv.Key)] = i
	}
	if heads := r.Responses[1].GetResponseRange().GetKvs(); len(heads) > 0 {
		q.head = heads[0]
	}
	return q, nil
}

// crowdBefore is the crowd that a question comes to, as of a while ago; nil: there is none, or the request does not wait, or has
// too little time to look for who holds the lock after it was put.
func (s *session) crowdBefore(q *question, lock string) *queue {
	if before, ok := s.queues.Last(lock); ok && before.head != nil && q.req.Wait > 0 && q.left >= callTime {
		return before
	}
	return nil
}

// readBehind is read for a contender that was put behind a crowd, and what came of reading the crowd's first one. If that has
// gone, the first look of the wait tells who holds the lock.
func (a *answer) readBehind(before *queue, first []*mvccpb.KeyValue) {
	a.head, a.all = nil, int64(len(before.contenders))+1
	if len(first) > 0 && first[0].CreateRevision == before.head.CreateRevision {
		a.head = first[0]
	}
}

// leftOf is how much of a time is left if a context ends before that.
func leftOf(ctx context.Context, most time.Duration) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(most, time.Until(end))
	}
	return most
}

// listingTime is how long a waiter waits for what it shares. Listings may fail or take long where single keys can be read: a
// client has a limit for answers, and a line is slow. What is left after that is enough to look for itself.
func (w *waiting) listingTime() time.Duration {
	if w.left < callTime {
		return w.left / 8
	}
	return attemptTime
}

// viewInCrowd is view for one of a crowd that does not share the lock. Who comes later stands behind, so the queue of a moment
// ago tells who is before the own contender, if that one is still there. It reports false if that is not so, or the queue could
// not be read in time: then the contender has to look for itself.
func (w *waiting) viewInCrowd(ctx context.Context) (v view, ok bool, err error) {
	limited, cancel := context.WithTimeout(ctx, w.listingTime())
	defer cancel()
	q, _, err := w.s.queues.Ask(limited, w.s.space.lock(w.Req.Key), time.Now())
	if err != nil {
		w.alone = true
		return view{}, false, nil
	}
	me, rev := w.q.me, w.a.mine.CreateRevision
	v = view{answer: answer{ground: w.a.ground, all: int64(len(q.contenders)), head: q.head}}
	rank, there := q.ranks[me]
	if !there || q.contenders[rank].CreateRevision != rev {
		return v, true, nil
	}
	ops := []etcd.Op{etcd.OpGet(me)}
	if rank > 0 {
		ops = append(ops, etcd.OpGet(string(q.contenders[rank-1].Key)))
	}
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		v.sent = time.Now()
		return w.s.client.Txn(ctx).Then(ops...).Commit()
	})
	if err != nil {
		return view{}, false, err
	}
	v.rev = r.Header.Revision
	if kvs := r.Responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
		v.mine = kvs[0]
	}
	if rank == 0 {
		v.head = v.mine
		return v, true, nil
	}
	before := r.Responses[1].GetResponseRange().GetKvs()
	if len(before) == 0 || before[0].CreateRevision != q.contenders[rank-1].CreateRevision {
		return view{}, false, nil
	}
	v.before = before[0]
	return v, true, nil
}
