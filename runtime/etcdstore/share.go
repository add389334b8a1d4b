package etcdstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Shares implements lockrt.Sharer.
func (s *session) Shares() {}

// shares reports whether a request is for a lease beside which others may hold the lock.
func shares(req lockrt.Request) bool { return req.Mode == lockrt.Read || req.Permits > 0 }

// sight is what a request that shares finds. The zero value is a free lock.
type sight struct {
	mine, last *mvccpb.KeyValue
	heads      []*mvccpb.KeyValue // the oldest contenders: as many as there are permits, for a reader one
	all        int64              // how many contenders there are
}

// sighting reads a sight, and before it the generation of the session.
func (s *session) sighting(q *question) []etcd.Op {
	lock := s.space.lock(q.req.Key)
	return []etcd.Op{
		etcd.OpGet(s.space.generation(s.id), etcd.WithKeysOnly()), etcd.OpGet(q.me),
		etcd.OpGet(lock, latest()...), etcd.OpGet(lock, oldest(max(q.req.Permits, 1))...),
	}
}

// sightOf takes what sighting has read. It reports false if the ground is not the present one.
func sightOf(g ground, responses []*pb.ResponseOp) (seen sight, stands bool) {
	kvs := func(i int) []*mvccpb.KeyValue { return responses[i].GetResponseRange().GetKvs() }
	if own := kvs(0); len(own) == 0 || own[0].ModRevision != g.generation {
		return sight{}, false
	}
	if mine := kvs(1); len(mine) > 0 {
		seen.mine = mine[0]
	}
	if last := kvs(2); len(last) > 0 {
		seen.last = last[0]
	}
	seen.heads, seen.all = kvs(3), responses[3].GetResponseRange().GetCount()
	return seen, true
}

// room returns the entry with which a newcomer holds the lock, and reports whether it may. If the last contender is let
// in, so are all before it, and nobody waits.
func (v sight) room(e entry) (entry, bool) {
	e.In = true
	if v.last == nil {
		return e, true
	}
	if last := entryOf(v.last); !last.In || !last.besides(e) {
		return e, false
	} else if e.Read {
		e.Epoch = last.epoch(v.last.CreateRevision)
		return e, true
	}
	taken := make(slots)
	for _, kv := range v.heads {
		taken[entryOf(kv).Slot] = true
	}
	if len(v.heads) < e.Permits {
		e.Slot = taken.take()
	}
	return e, len(v.heads) < e.Permits
}

// slots are those that permits have.
type slots map[int]bool

// take takes the lowest that is free.
func (s slots) take() int {
	for slot := 0; ; slot++ {
		if !s[slot] {
			s[slot] = true
			return slot
		}
	}
}

// enterTries is how often a request that may wait tries to come in without standing in the queue. Of a crowd that comes
// at once one is let in at each try; those in the queue are let in together.
const enterTries = 3

// askShared asks for a lease that shares, if there is room. It reports false if there is none, or others are always
// faster, and the request is to wait; or if the ground is out of date. A try looks before it writes; whoever may wait
// assumes first that the lock is free, unless writes are what the servers are late with.
func (s *session) askShared(ctx context.Context, q *question, a *answer) (done bool, err error) {
	var seen sight
	if q.req.Wait == 0 || s.tight() {
		if seen, err = s.see(ctx, q, a); err != nil || !a.stands {
			return false, err
		}
	}
	for tries := 0; seen.mine == nil; tries++ {
		e, ok := seen.room(s.entry(q.req))
		if !ok || q.req.Wait > 0 && tries == enterTries {
			break
		}
		if tries > enterTries && !pace.Sleep(ctx, pace.Jitter(time.Duration(tries)*time.Millisecond)) {
			return false, errMoved
		}
		if seen, done, err = s.enterWith(ctx, q, a, seen, e); done || err != nil || !a.stands {
			return done, err
		}
	}
	if seen.mine == nil && q.req.Wait > 0 {
		return false, nil
	}
	a.mine, a.all = seen.mine, seen.all
	if len(seen.heads) > 0 {
		a.head = seen.heads[0]
	}
	return s.adopt(ctx, q, a)
}

// see reads without a write.
func (s *session) see(ctx context.Context, q *question, a *answer) (seen sight, err error) {
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		a.sent = time.Now()
		return s.client.Txn(ctx).Then(s.sighting(q)...).Commit()
	})
	if err != nil {
		return sight{}, err
	}
	a.rev = r.Header.Revision
	seen, a.stands = sightOf(a.ground, r.Responses)
	return seen, nil
}

// enterWith puts a contender that holds the lock, if nobody has come since the sight, and if the last one is there:
// without it somebody else may have held the lock meanwhile. If not, it returns a new sight.
func (s *session) enterWith(
	ctx context.Context, q *question, a *answer, seen sight, e entry,
) (now sight, done bool, err error) {
	me, lock := q.me, s.space.lock(q.req.Key)
	text := e.text()
	newest := int64(0)
	conditions := []etcd.Cmp{s.guard(a.ground)}
	if seen.last != nil {
		newest = seen.last.CreateRevision
		conditions = append(conditions, createdAt(string(seen.last.Key), newest))
	}
	conditions = append(conditions, etcd.Compare(etcd.CreateRevision(lock).WithPrefix(), "<", newest+1))
	r, unanswered, err := rewrite(ctx, s, q.rank(), func(ctx context.Context) (*etcd.TxnResponse, error) {
		a.sent = time.Now()
		return s.client.Txn(ctx).If(conditions...).Then(etcd.OpPut(me, text, etcd.WithLease(q.class.id))).
			Else(s.sighting(q)...).Commit()
	})
	if unanswered {
		q.doubt = a.ground.generation
	}
	if err != nil {
		return sight{}, false, err
	}
	a.rev, q.heard = r.Header.Revision, true
	if r.Succeeded {
		a.mine = made(me, text, a.rev, q.class)
		return sight{}, true, nil
	}
	now, a.stands = sightOf(a.ground, r.Responses)
	return now, false, nil
}
