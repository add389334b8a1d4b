package etcdstore

import (
	"context"
	"errors"
	"slices"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
)

// move is that of a contender to a class.
type move struct {
	to  etcd.LeaseID
	rev int64 // of the contender's last change
	ttl time.Duration
}

const (
	// moveBatch is how many contenders are moved at a time. Each is a transaction in a transaction.
	moveBatch = mostParts / 2
	// moveLanes is how many of these are under way at a time, of those whose class is aged.
	moveLanes = 4
)

// move moves the contenders of leases to classes in which one may believe for as long as they are to last, until all have
// one. The revision of a contender's creation stays, and with it the epoch. A contender may be moved by others at the same
// time, and by attempts whose answers were lost.
func (r *renewing) move(ctx context.Context) {
	for pause := time.Duration(0); ; pause = pace.Backoff(pause, 2*retryFirst, retryMost) {
		todo := r.misplaced()
		if len(todo) == 0 {
			return
		}
		more := pace.Sleep(ctx, pace.Jitter(pause))
		for key, same := range todo {
			if !more {
				r.fail(same, context.Cause(ctx))
			} else if err := r.moveTo(ctx, key, same); err != nil {
				r.fail(same, err)
			}
		}
	}
}

// misplaced are the leases whose contenders are to be moved, by the classes to which they go.
func (r *renewing) misplaced() map[time.Duration][]int {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	todo := make(map[time.Duration][]int)
	for _, i := range r.open() {
		if ttl, moves := r.movesLocked(i); moves {
			key := classFor(ttl)
			todo[key] = append(todo[key], i)
		}
	}
	return todo
}

// movesLocked takes over what is known of a lease by now, and returns the TTL that its contender is to have, and whether it is
// to be moved for that; session.mu is held.
func (r *renewing) movesLocked(i int) (ttl time.Duration, moves bool) {
	now := r.s.leases[r.held[i].id]
	if now == nil || now.rev != r.held[i].rev {
		r.errs[i] = r.s.missingLocked(r.held[i].id)
		return 0, false
	}
	r.held[i] = *now
	longer := r.ttls[i].Truncate(time.Microsecond) > now.ttl // in which entries have it
	return max(r.ttls[i], now.ttl), longer || r.aged && now.agedLocked()
}

// moveTo moves contenders to the class with this key, in transactions of a bounded size, if one may believe in it for as long
// as one believes in the leases so far. If not, they stay misplaced.
func (r *renewing) moveTo(ctx context.Context, key time.Duration, all []int) error {
	c, err := r.s.classOf(ctx, key)
	if err != nil {
		return err
	}
	defer r.s.leave(c)
	var end time.Time
	for _, i := range all {
		if until := r.held[i].until; until.After(end) {
			end = until
		}
	}
	if err := r.s.awaitLife(ctx, c, end); err != nil {
		if errors.Is(err, errAged) || isLost(err) {
			return nil
		}
		return err
	}
	for len(all) > 0 {
		n := min(r.s.fit(len(all), func(i int) int { return 2*len(r.held[all[i]].me) + maxEntry }), moveBatch)
		err := r.moveChunk(ctx, c, all[:n])
		switch {
		case r.s.fewer(n, err):
		case err != nil:
			return err
		default:
			all = all[n:]
		}
	}
	return nil
}

// moveChunk reads contenders, and moves those to a class that are as they were read. The others stay misplaced, and all do if
// the class is lost.
func (r *renewing) moveChunk(ctx context.Context, c *class, chunk []int) error {
	s := r.s
	found, err := r.readChunk(ctx, chunk)
	if err != nil {
		return err
	}
	var going []int
	var parts []etcd.Op
	var ttls []time.Duration
	var froms []int64
	for j, i := range chunk {
		if r.errs[i] != nil {
			continue
		}
		ttl, may := r.mayMove(i, trip{c, found[j].ModRevision})
		if !may {
			continue
		}
		me, e := r.held[i].me, entryOf(found[j])
		e.TTL = ttl.Microseconds()
		going, ttls, froms = append(going, i), append(ttls, ttl), append(froms, found[j].ModRevision)
		parts = append(parts, etcd.OpTxn([]etcd.Cmp{changedAt(me, found[j].ModRevision)},
			[]etcd.Op{etcd.OpPut(me, e.text(), etcd.WithLease(c.id))}, nil))
	}
	if len(going) == 0 {
		return nil
	}
	done, unanswered, err := rewriteSoon(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).Then(parts...).Commit()
	})
	for j, i := range going {
		h, moved := &r.held[i], err == nil && done.Responses[j].GetResponseTxn().GetSucceeded()
		if moved {
			h.class, r.errs[i] = s.settleMove(h, move{c.id, done.Header.Revision, ttls[j]})
		}
		s.endMove(h.id, trip{c, froms[j]}, unanswered && !moved) // but for what settleMove has taken over
	}
	if isNoLease(err) {
		s.lose(c, err)
		return nil
	}
	return err
}

// mayMove begins the trip of a contender to a class, which is kept for as long. It returns the TTL that the
// contender is to have, and reports false if that needs no move any more or another class, or if the class or the lease is over.
// One may believe in the class for as long as one believes in the lease now.
func (r *renewing) mayMove(i int, t trip) (ttl time.Duration, may bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	ttl, moves := r.movesLocked(i)
	c, h := t.to, r.s.leases[r.held[i].id]
	if !moves || t.from < h.moved || classFor(ttl) != c.key || c.over || c.aged || !c.lastsLocked(h.until) {
		return ttl, false
	}
	c.users++
	h.moving = append(h.moving, t)
	return ttl, true
}

// endMove ends what mayMove began. If an attempt had no answer the contender may have moved, or may later: the class is kept
// as long as the lease. If etcd has forgotten it meanwhile, the contender may have gone with it.
func (s *session) endMove(id string, t trip, unanswered bool) {
	s.mu.Lock()
	c, h := t.to, s.leases[id]
	i := -1
	if h != nil {
		i = slices.Index(h.moving, t)
	}
	if i < 0 {
		s.mu.Unlock()
		return
	}
	h.moving = slices.Delete(h.moving, i, i+1)
	if unanswered = unanswered && t.from >= h.moved; unanswered {
		if h.maybe = append(h.maybe, t); c.aged {
			s.rehouseLocked()
		}
	} else {
		s.leaveLocked(c)
	}
	gone := unanswered && c.over
	s.mu.Unlock()
	if gone {
		s.lose(c, nil)
	}
}

// settleMove takes over to which class a contender has moved, and returns the one that it has now.
func (s *session) settleMove(h *held, m move) (*class, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.leases[h.id]
	switch {
	case now == nil || now.rev != h.rev:
		return h.class, s.missingLocked(h.id)
	case m.rev < now.moved: // older than what is known
		return now.class, nil
	}
	late := now.maybe
	if m.rev > now.moved { // requests that were built on an older revision refuse themselves from here on
		now.maybe = nil
		defer func() {
			for _, t := range late {
				s.leaveLocked(t.to)
			}
		}()
	}
	now.moved = m.rev
	if now.class.id == m.to {
		now.ttl = max(now.ttl, m.ttl)
		return now.class, nil
	}
	for _, t := range append(slices.Concat(late, now.moving), trip{to: s.every[m.to]}) {
		switch c := t.to; {
		case c == nil || c.id != m.to:
		case c.over: // and the contender has gone with it
			c.users++
			s.leaveLocked(now.class)
			now.class = c
			if s.loseLocked(c, now); c.presumed {
				s.telling.Start(func() { s.Lost(now.id, errPresumed) })
			} else if now.doubt != 0 {
				s.abandonLocked(now)
			}
			return h.class, s.missingLocked(h.id)
		default:
			c.users++
			s.leaveLocked(now.class)
			if now.class, now.ttl = c, m.ttl; c.aged {
				s.rehouseLocked()
			}
			return c, nil
		}
	}
	return now.class, errMoved // by nobody of this session
}
