package etcdstore

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/combine"
)

const (
	// combineAlone is how many transactions a combiner has under way, each for one lease, before it begins to gather
	// them.
	combineAlone = 4
	// combineLanes is how many gathered transactions are under way at a time.
	combineLanes = 2
	// combineBatch is how many leases are in one at the most.
	combineBatch = mostParts / 2
	// combineStall is how long callers wait before another lane opens for them, because those under way may be at a
	// server that is silent.
	combineStall = 100 * time.Millisecond
)

// change is a transaction for one lock, or without conditions the one thing that it would do.
type change struct {
	combine.Ticket
	lock  string // what the names of all its contenders begin with
	ifs   []etcd.Cmp
	thens []etcd.Op
	rank  rank
	tried bool // it does not go along with others again

	sent time.Time // when it went
	r    *etcd.TxnResponse
	err  error
	done bool // r and err are its answer; otherwise it is to be asked alone
}

// combining prepares a combiner: transactions of concurrent callers go out as parts of one, and share its round trip, its
// place in etcd's log and its flush.
func (s *session) combining(c *combine.Combiner[*change]) {
	c.Alone, c.Lanes, c.Most, c.Stall, c.Time = combineAlone, combineLanes, combineBatch, combineStall, callTime
	c.Start, c.Late = s.calls.Start, s.late
	c.Send = func(ctx context.Context, batch []*change) bool { return s.sendChanges(ctx, c, batch) }
}

// commit makes one attempt at a change. Only the first may go along with others: what they meet is nothing to wait for
// twice.
func (s *session) commit(ctx context.Context, c *combine.Combiner[*change], e *change) (*etcd.TxnResponse, error) {
	if !e.tried {
		e.tried = true
		if err := c.Do(ctx, e); err != nil {
			if !c.Sent(e) {
				err = unsentError{err}
			}
			return nil, err
		}
		if e.done {
			return e.r, e.err
		}
	}
	return write(ctx, s, e.rank, func(ctx context.Context) (*etcd.TxnResponse, error) { return s.commitAlone(ctx, e) })
}

func (s *session) commitAlone(ctx context.Context, e *change) (*etcd.TxnResponse, error) {
	e.sent = time.Now()
	if len(e.ifs) > 0 {
		r, err := s.client.Txn(ctx).If(e.ifs...).Then(e.thens...).Commit()
		if err == nil {
			s.saw(r.Header)
		}
		return r, err
	}
	r, err := s.client.Do(ctx, e.thens[0])
	if err != nil {
		return nil, err
	}
	deleted := (*pb.DeleteRangeResponse)(r.Del())
	s.saw(deleted.Header)
	return &etcd.TxnResponse{Header: deleted.Header, Succeeded: true, Responses: []*pb.ResponseOp{
		{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: deleted}},
	}}, nil
}

func (s *session) sendChanges(
	ctx context.Context, c *combine.Combiner[*change], batch []*change,
) (answered bool) {
	r := batch[0].rank
	for _, e := range batch {
		r = min(r, e.rank)
	}
	for {
		w, err := s.enter(ctx, r)
		if err != nil {
			for _, e := range batch {
				e.err, e.done = err, true
			}
			return false
		}
		going := c.Going(fitting(batch, s.partsTaken()))
		if len(going) == 0 {
			s.back(w)
			return false
		}
		err = s.sending(ctx, w, attemptTime, func(ctx context.Context) error { return s.sendTogether(ctx, going) })
		if !isCrowded(err) || len(batch) == 1 {
			return err == nil
		}
	}
}

// sendTogether makes one attempt at a batch. Those that are not done then are to be asked alone.
func (s *session) sendTogether(ctx context.Context, batch []*change) error {
	if len(batch) == 1 {
		e := batch[0]
		e.r, e.err = s.commitAlone(ctx, e)
		e.done = true
		return e.err
	}
	parts, sent := make([]etcd.Op, len(batch)), time.Now()
	for i, e := range batch {
		e.sent = sent
		if parts[i] = e.thens[0]; len(e.ifs) > 0 {
			parts[i] = etcd.OpTxn(e.ifs, e.thens, nil)
		}
	}
	r, err := s.client.Txn(ctx).Then(parts...).Commit()
	if err != nil && !mayHaveRun(err) {
		s.fewer(len(batch), err)
		return err // one of them was refused, and so all were
	}
	if err == nil {
		s.saw(r.Header)
	}
	for i, e := range batch {
		if e.err, e.done = err, true; err == nil {
			e.r = &etcd.TxnResponse{Header: r.Header, Succeeded: true, Responses: r.Responses[i : i+1]}
			if part := r.Responses[i].GetResponseTxn(); part != nil {
				e.r.Succeeded, e.r.Responses = part.Succeeded, part.Responses
			}
		}
	}
	return err
}

// fitting are those of a batch that can be parts of one transaction, so many at the most; the others have to ask alone.
// Who comes second for a lock is left out, since contenders that are made at one revision have no order, and who would
// make it too large.
func fitting(batch []*change, most int) (parts []*change) {
	locks, room := make(map[string]bool, len(batch)), mostBytes
	for _, e := range batch {
		// The name of the lock stands in the conditions, in both ends of the range, and in the key.
		if room -= 4 * len(e.lock); !locks[e.lock] && room >= 0 && len(parts) < most {
			locks[e.lock] = e.thens[0].IsPut()
			parts = append(parts, e)
		}
	}
	return parts
}
