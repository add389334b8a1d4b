package etcdstore

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// etcd reads and sorts all contenders of a lock to find the oldest of them, or the one before another. If each of a crowd asks
// for that, it is the square of the crowd. So those of one process who want the lock for themselves share what was read once.

const (
	// crowd is how many contenders are one.
	crowd = 64
	// listingTime is how long a waiter waits for what it shares. It leaves time to look for itself.
	listingTime = 2 * time.Second
	// longWait is from when on a request has time for a second answer.
	longWait = time.Second
)

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

// queueNow is all contenders of a lock at the present or later. Listings may fail or take long where single keys can be read:
// a client has a limit for answers, and a line is slow. Then it returns an error in good time.
func (s *session) queueNow(ctx context.Context, lock string) (*queue, error) {
	limited, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	q, _, err := s.queues.Ask(limited, lock, time.Now())
	return q, err
}

// crowdBefore is the crowd that a request comes to, as of a while ago; nil: there is none, or the request has too little time
// for more than one answer.
func (s *session) crowdBefore(lock string, req lockrt.Request) *queue {
	q, ok := s.queues.Last(lock)
	if !ok || q.head == nil || req.Wait < longWait {
		return nil
	}
	return q
}

// readBehind finds out who holds the lock for which a contender was put behind a crowd: the one who held it, if that one is
// still there, or else the first one now. If that cannot be told in good time, the first look of the wait does.
func (s *session) readBehind(ctx context.Context, lock string, behind *queue, head []*mvccpb.KeyValue, a *answer) {
	a.head, a.all = nil, int64(len(behind.contenders))+1
	if len(head) > 0 && head[0].CreateRevision == behind.head.CreateRevision {
		a.head = head[0]
		return
	}
	if q, err := s.queueNow(ctx, lock); err == nil {
		a.head, a.all = q.head, int64(len(q.contenders))
	}
}

// viewInCrowd is view for one of a crowd that does not share the lock. Who comes later stands behind, so the queue of a moment
// ago tells who is before the own contender, if that one is still there. It reports false if that is not so time and again, or
// the queue cannot be read: then the contender has to look for itself.
func (w *waiting) viewInCrowd(ctx context.Context) (v view, ok bool, err error) {
	me, rev := w.q.me, w.a.mine.CreateRevision
	for range 2 {
		q, err := w.s.queueNow(ctx, w.s.space.lock(w.Req.Key))
		if err != nil {
			w.alone = true
			return view{}, false, nil
		}
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
		if len(before) > 0 && before[0].CreateRevision == q.contenders[rank-1].CreateRevision {
			v.before = before[0]
			return v, true, nil
		}
	}
	return view{}, false, nil
}
