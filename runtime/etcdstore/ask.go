package etcdstore

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// loose is what requests of a lease may still do that had no answer.
type loose struct {
	doubt int64 // the generation of an attempt to put the contender; 0: all had an answer
	moves bool  // they may move the contender to another class, as long as it does not change
}

// question is one request of an Acquire that may put a contender.
type question struct {
	req   lockrt.Request
	left  time.Duration // for all of it, callTime at the most
	me    string        // the key of its contender
	class *class        // has it as a user; nil: it has not come so far
	loose
	heard bool // one of its writes has had an answer

	put  entry  // the value of the contender that it puts,
	text string // and how that is written
}

// rank lets those go first whose next write is not their first: they are nearer to their end.
func (q *question) rank() rank {
	if q.heard {
		return continuing
	}
	return beginning
}

// entryOf is [entryOf] of the contender of the question.
func (q *question) entryOf(kv *mvccpb.KeyValue) entry {
	if q.text != "" && string(kv.Value) == q.text {
		return q.put
	}
	return entryOf(kv)
}

// answer is what etcd said.
type answer struct {
	ground ground
	stands bool             // it is the present one, as far as is known
	mine   *mvccpb.KeyValue // the contender of the request; nil: there is none
	head   *mvccpb.KeyValue // the oldest, which holds the lock; nil: nobody does
	all    int64            // how many contenders there are
	shares bool             // the request is for a lease that shares the lock
	rev    int64            // as of which
	sent   time.Time
}

// granted reports whether the contender of the request holds the lock.
func (a answer) granted() bool {
	if a.shares {
		return a.mine != nil && entryOf(a.mine).In
	}
	return a.mine != nil && a.head != nil && a.mine.CreateRevision == a.head.CreateRevision
}

// ask puts a contender, or finds it, until ctx ends or bound is over. The question belongs to the caller, with an error
// too: what it may have brought has to be taken back.
func (s *session) ask(
	ctx context.Context, req lockrt.Request, bound time.Duration, was loose,
) (*question, answer, error) {
	q := &question{req: req, left: leftOf(ctx, bound), me: s.contender(req.Key, req.ID), loose: was}
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	if bound < callTime {
		limited, cancel = context.WithTimeout(limited, bound)
		defer cancel()
	}
	a, err := s.askServers(limited, q)
	return q, a, explain(ctx, began, err)
}

// takeBack gives up what a question has brought, nil if that is not known.
func (s *session) takeBack(q *question, mine *mvccpb.KeyValue) {
	h := &held{key: q.req.Key, id: q.req.ID, me: q.me, doubt: q.doubt}
	if mine != nil {
		h.rev = mine.CreateRevision
	}
	s.abandon(h)
	if q.class != nil {
		s.leave(q.class)
	}
}

// askServers asks until there is an answer. The question has its class then.
func (s *session) askServers(ctx context.Context, q *question) (a answer, err error) {
	s.asks(1)
	defer s.asks(-1)
	var stale ground
	for moved := 0; ; moved++ {
		a = answer{stands: true, shares: shares(q.req)}
		a.ground, err = s.prepare(ctx, stale)
		if isNoLease(err) && pace.Sleep(ctx, pace.Jitter(retryFirst)) { // etcd has forgotten the session, too
			continue
		}
		if err != nil {
			return answer{}, err
		}
		if err = s.classify(ctx, q); err != nil {
			return answer{}, err
		}
		done, err := s.askOnce(ctx, q, &a)
		switch {
		case isNoLease(err):
			s.lose(q.class, err)
			s.leave(q.class)
			q.class = nil
		case err != nil:
			return answer{}, err
		case done:
			return a, nil
		case !a.stands:
			stale = a.ground
		}
		if moved > 0 && !pace.Sleep(ctx, pace.Jitter(time.Duration(moved)*time.Millisecond)) {
			return answer{}, errMoved
		}
	}
}

func (s *session) asks(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking += more
}

func (s *session) classify(ctx context.Context, q *question) (err error) {
	if q.class == nil {
		q.class, err = s.class(ctx, q.req.TTL)
	}
	return err
}

// askOnce asks on the ground of the answer. It reports false if that is out of date.
func (s *session) askOnce(ctx context.Context, q *question, a *answer) (done bool, err error) {
	if a.shares {
		if done, err := s.askShared(ctx, q, a); done || err != nil || !a.stands {
			return done, err
		}
	} else if q.req.Wait == 0 && q.doubt == 0 {
		if held, err := s.look(ctx, q, a); err != nil || held {
			return err == nil, err
		}
	}
	me, lock := q.me, lockPrefix(q.me)
	q.put = s.entry(q.req)
	q.text = q.put.text()
	free := etcd.Compare(etcd.CreateRevision(lock).WithPrefix(), "=", 0)
	if q.req.Wait > 0 {
		free = createdAt(me, 0)
	}
	take := &change{
		lock: lock, rank: q.rank(), ifs: []etcd.Cmp{s.guard(a.ground), free},
		thens: []etcd.Op{etcd.OpPut(me, q.text, etcd.WithLease(q.class.id))},
	}
	before := s.crowdBefore(q, lock)
	if before == nil {
		take.thens = append(take.thens, etcd.OpGet(lock, first...))
	} else {
		take.thens = append(take.thens, etcd.OpGet(string(before.head.Key)))
	}
	r, unanswered, err := again(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.commit(ctx, &s.takes, take)
	})
	if unanswered {
		q.doubt = a.ground.generation
	}
	if err != nil {
		return false, err
	}
	a.sent, q.heard = take.sent, true
	if !r.Succeeded {
		return s.askWhy(ctx, q, a)
	}
	a.rev = r.Header.Revision
	if before == nil {
		a.read(r.Responses)
	} else {
		a.readBehind(before, r.Responses[1].GetResponseRange().GetKvs())
	}
	a.mine = made(me, q.text, a.rev, q.class)
	return true, nil
}

// made is a contender that was put at a revision.
func made(key, text string, rev int64, c *class) *mvccpb.KeyValue {
	return &mvccpb.KeyValue{
		Key: []byte(key), Value: []byte(text), CreateRevision: rev, ModRevision: rev, Lease: int64(c.id),
	}
}

// askWhy finds out why a contender was not put. It reports false if the ground is out of date.
func (s *session) askWhy(ctx context.Context, q *question, a *answer) (done bool, err error) {
	me, lock := q.me, s.space.lock(q.req.Key)
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		a.sent = time.Now()
		return s.client.Txn(ctx).If(s.guard(a.ground)).Then(etcd.OpGet(me), etcd.OpGet(lock, first...)).Commit()
	})
	if err != nil || !r.Succeeded {
		a.stands = false
		return false, err
	}
	a.rev = r.Header.Revision
	a.read(r.Responses)
	if a.mine == nil && (q.req.Wait > 0 || a.head == nil) {
		return false, nil // what was in the way has gone
	}
	return s.adopt(ctx, q, a)
}

// look asks whether the lock is free for a request that does not wait, without a write. It reports true for the lock of
// somebody else.
func (s *session) look(ctx context.Context, q *question, a *answer) (held bool, err error) {
	lock := s.space.lock(q.req.Key)
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, lock, first...)
	})
	if err != nil || len(r.Kvs) == 0 {
		return false, err
	}
	a.head = r.Kvs[0]
	return string(a.head.Key) != q.me, nil
}

// read takes the contender of the request and the first of all.
func (a *answer) read(responses []*pb.ResponseOp) {
	a.mine, a.head = nil, nil
	if kvs := responses[0].GetResponseRange().GetKvs(); len(kvs) > 0 {
		a.mine = kvs[0]
	}
	oldest := responses[1].GetResponseRange()
	if a.all = oldest.Count; len(oldest.Kvs) > 0 {
		a.head = oldest.Kvs[0]
	}
}

// adopt attaches a contender that was there before to the class of this request: its place was kept for a caller with
// another TTL. It reports false if the contender has changed since it was read. Earlier moves that had no answer refuse
// themselves then.
func (s *session) adopt(ctx context.Context, q *question, a *answer) (bool, error) {
	if a.mine == nil || etcd.LeaseID(a.mine.Lease) == q.class.id && !q.moves {
		return true, nil
	}
	e := entryOf(a.mine)
	if e.Kept || e.Broken != "" {
		return true, nil
	}
	fresh := s.entry(q.req)
	e.TTL, e.At = fresh.TTL, fresh.At
	me := string(a.mine.Key)
	r, unanswered, err := rewrite(ctx, s, continuing, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(changedAt(me, a.mine.ModRevision)).
			Then(etcd.OpPut(me, e.text(), etcd.WithLease(q.class.id))).Commit()
	})
	q.moves = err != nil && (q.moves || unanswered) // an answer says that the contender has changed, or does now
	if err != nil || !r.Succeeded {
		return false, err
	}
	a.mine.Value, a.mine.ModRevision, a.mine.Lease = []byte(e.text()), r.Header.Revision, int64(q.class.id)
	return true, nil
}

func (s *session) entry(req lockrt.Request) entry {
	return entry{
		ID: req.ID, Node: s.node, Session: s.id, TTL: req.TTL.Microseconds(), At: time.Now().UnixMicro(),
		Read: req.Mode == lockrt.Read, Permits: req.Permits,
	}
}

// accept turns an answer that grants into the caller's grant. The question's class goes to the lease. If that was lost
// meanwhile, the contender of one who waits may be there still.
func (s *session) accept(q *question, a answer) (lockrt.Grant, error) {
	defer s.leave(q.class)
	start, e := s.start(q.class, a.sent, q.req.TTL), q.entryOf(a.mine)
	h := &held{
		id: q.req.ID, key: q.req.Key, me: q.me, rev: a.mine.CreateRevision, class: q.class, ttl: q.req.TTL,
		until: start.Add(q.req.TTL), doubt: q.doubt, permits: e.Permits, slot: e.Slot,
	}
	if e.ID != h.id {
		s.unsure(h.key, h.id)
		return lockrt.Grant{}, errMoved // another lease has it, whatever the names say
	}
	err := s.hold(h)
	if e.Broken != "" {
		s.drop(h.id)
		err = waits.ErrBroken
	}
	if err != nil {
		if !errors.Is(err, errClassOver) || q.req.Wait == 0 {
			s.abandon(h)
		}
		return lockrt.Grant{}, err
	}
	return lockrt.Grant{Epoch: a.ground.epoch(e, h.rev), Slot: e.Slot, Start: start}, nil
}

// Acquire implements lockrt.Session.
func (s *session) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if !s.gate.Enter() {
		return lockrt.Grant{}, lockrt.ErrClosed
	}
	defer s.gate.Leave()
	var was loose
	kept := s.pickUp(req.ID)
	if kept != nil {
		defer s.leave(kept.class)
		was = kept.loose
	}
	if err := ctx.Err(); err != nil {
		if kept != nil {
			s.abandon(&held{key: req.Key, id: req.ID, me: s.contender(req.Key, req.ID), doubt: was.doubt, rev: kept.rev})
		}
		return lockrt.Grant{}, err
	}
	if req.Wait > 0 {
		return s.wait(ctx, req, kept != nil, was)
	}
	began := time.Now()
	q, a, err := s.ask(ctx, req, callTime, was)
	switch {
	case err == nil && a.granted():
		return s.accept(q, a)
	case q.doubt != 0 || kept != nil || a.mine != nil:
		s.takeBack(q, a.mine)
	case q.class != nil:
		s.leave(q.class)
		fallthrough
	default: // nothing was put
		s.gone(req.Key, req.ID)
	}
	if err != nil {
		return lockrt.Grant{}, err
	}
	limited, cancel := context.WithDeadline(ctx, began.Add(callTime))
	defer cancel()
	busy, err := s.busy(limited, req.Key, a.head)
	if err != nil {
		return lockrt.Grant{}, err
	}
	return lockrt.Grant{}, busy
}
