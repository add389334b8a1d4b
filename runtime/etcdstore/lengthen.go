package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// move is that of a contender to a class.
type move struct {
	to  etcd.LeaseID
	rev int64 // of the contender's last change
	ttl time.Duration
}

// lengthen gives a lease a longer TTL, and returns the class of its contender. The revision of the contender's creation
// stays, and with it the epoch. The contender may be moved by others at the same time, and by attempts whose answers were
// lost.
func (s *session) lengthen(ctx context.Context, h held, ttl time.Duration) (*class, error) {
	for pause := time.Duration(0); pace.Sleep(ctx, pace.Jitter(pause)); pause = pace.Backoff(pause, 2*retryFirst, retryMost) {
		if moved, err := s.lengthenOnce(ctx, &h, ttl); moved != nil || err != nil {
			return cmp.Or(moved, h.class), err
		}
	}
	return h.class, context.Cause(ctx)
}

// lengthenOnce is one try of lengthen. It returns nil if the contender was changed meanwhile, or its new class was lost.
func (s *session) lengthenOnce(ctx context.Context, h *held, ttl time.Duration) (*class, error) {
	c, err := s.class(ctx, ttl)
	if err != nil {
		return nil, err
	}
	defer s.leave(c)
	kv, err := s.own(ctx, h)
	if err != nil {
		return nil, err
	}
	if e := entryOf(kv); e.ttl() >= ttl.Truncate(time.Microsecond) {
		return s.settleMove(h, move{etcd.LeaseID(kv.Lease), kv.ModRevision, e.ttl()})
	}
	return s.moveTo(ctx, h, kv, c, ttl)
}

// own reads the contender of a lease that holds its lock.
func (s *session) own(ctx context.Context, h *held) (*mvccpb.KeyValue, error) {
	said, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) { return s.client.Get(ctx, h.me) })
	if err != nil {
		return nil, err
	}
	if len(said.Kvs) == 0 || said.Kvs[0].CreateRevision != h.rev {
		return nil, lockrt.ErrLost
	}
	switch e := entryOf(said.Kvs[0]); {
	case e.Broken != "":
		s.loseBroken(h.id, h.key, errors.New(e.Broken), "")
		return nil, lockrt.ErrLost
	case e.Kept:
		return nil, lockrt.ErrLost
	}
	return said.Kvs[0], nil
}

// moveTo moves a contender as it was read to a class. It returns nil if the contender was changed meanwhile, perhaps by an
// attempt of its own, or if the class was lost.
func (s *session) moveTo(ctx context.Context, h *held, kv *mvccpb.KeyValue, c *class, ttl time.Duration) (*class, error) {
	if may, err := s.mayMove(h.id, c); !may {
		return nil, err
	}
	me, e := h.me, entryOf(kv)
	e.TTL = ttl.Microseconds()
	done, unanswered, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(changedAt(me, kv.ModRevision)).
			Then(etcd.OpPut(me, e.text(), etcd.WithLease(c.id))).Commit()
	})
	if err != nil || !done.Succeeded {
		s.endMove(h.id, c, unanswered)
	} else {
		defer s.endMove(h.id, c, unanswered) // but for what settleMove takes over
	}
	switch {
	case isNoLease(err):
		s.lose(c)
		return nil, nil
	case err != nil:
		return nil, err
	case !done.Succeeded:
		return nil, nil
	}
	return s.settleMove(h, move{c.id, done.Header.Revision, ttl})
}

// mayMove makes a class one to which the contender of a lease moves: it is kept for as long. It reports false
// if the class is over, and ErrLost if there is no such lease any more.
func (s *session) mayMove(id string, c *class) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.leases[id]
	switch {
	case h == nil:
		return false, lockrt.ErrLost
	case c.over:
		return false, nil
	}
	c.users++
	h.moving = append(h.moving, c)
	return true, nil
}

// endMove ends what mayMove began. If an attempt had no answer the contender may have moved, or may later: the class is kept
// as long as the lease. If etcd has forgotten it meanwhile, the contender may have gone with it.
func (s *session) endMove(id string, c *class, unanswered bool) {
	s.mu.Lock()
	h := s.leases[id]
	i := -1
	if h != nil {
		i = slices.Index(h.moving, c)
	}
	if i < 0 {
		s.mu.Unlock()
		return
	}
	h.moving = slices.Delete(h.moving, i, i+1)
	if unanswered {
		h.maybe = append(h.maybe, c)
	} else {
		s.leaveLocked(c)
	}
	gone := unanswered && c.over
	s.mu.Unlock()
	if gone {
		s.lose(c)
	}
}

// settleMove takes over to which class a contender has moved, and returns the one that it has now.
func (s *session) settleMove(h *held, m move) (*class, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.leases[h.id]
	switch {
	case now == nil || now.rev != h.rev:
		return h.class, lockrt.ErrLost
	case m.rev < now.moved: // older than what is known
		return now.class, nil
	}
	now.moved = m.rev
	if now.class.id == m.to {
		now.ttl = max(now.ttl, m.ttl)
		return now.class, nil
	}
	for _, c := range append(slices.Concat(now.maybe, now.moving), s.classes[classFor(m.ttl)]) {
		switch {
		case c == nil || c.id != m.to:
		case c.over: // and the contender has gone with it
			s.dropLocked(now)
			s.unsureLocked(now.key, now.id)
			return h.class, lockrt.ErrLost
		default:
			c.users++
			s.leaveLocked(now.class)
			now.class, now.ttl = c, m.ttl
			return c, nil
		}
	}
	return now.class, errMoved // by nobody of this session
}
