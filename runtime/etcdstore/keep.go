package etcdstore

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// keep leaves the contender at the head without a holder, under a lease of its own. While this session lives, it ends
// that to the millisecond.
func (s *session) keep(ctx context.Context, h *held, keep time.Duration) error {
	err := s.keepFor(ctx, h, keep, keep)
	if isNoLease(err) { // it ran out before it was used
		err = s.keepFor(ctx, h, keep, keep+callTime)
	}
	return err
}

// keepFor is keep with a lease of etcd that lasts for some time.
func (s *session) keepFor(ctx context.Context, h *held, keep, lease time.Duration) error {
	began := time.Now()
	grant, _, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.LeaseGrantResponse, error) {
		return s.client.Grant(ctx, int64((lease+time.Second-1)/time.Second))
	})
	if isFull(err) {
		return s.keepAsItIs(ctx, h, began, keep)
	}
	if err != nil {
		return err
	}
	me := h.me
	kept := entry{
		TTL: keep.Microseconds(), At: time.Now().UnixMicro(), Kept: true,
		Permits: h.permits, In: h.permits > 0, Slot: h.slot,
	}
	ops, other := s.ending(h, etcd.OpPut(me, kept.text(), etcd.WithLease(grant.ID), etcd.WithPrevKV())), s.endingOther(h)
	ops = append(ops, etcd.OpGet(s.space.told(s.id, h.id)))
	r, unanswered, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(createdAt(me, h.rev)).Then(ops...).Else(other...).Commit()
	})
	if err == nil && !r.Succeeded || err != nil && !unanswered {
		s.later(time.Now(), func(ctx context.Context) error { return s.endKept(ctx, grant.ID) })
		if err == nil {
			s.unsure(h.key, h.id)
			err = lockrt.ErrLost
			told := len(r.Responses[0].GetResponseRange().Kvs) > 0 || s.wasTold(h.id)
			if unanswered && !told && time.Since(began) >= keep {
				err = errOver // an earlier try may have kept it for as long as it was to be
			}
		}
		return err
	}
	named := s.unsure // another try may have given it another lease, or may delete it by its name
	if err == nil && !unanswered && !h.asked && h.doubt == 0 {
		named = s.gone
	}
	end := time.Now().Add(keep)
	if err == nil && s.keptBroken(h, r) {
		// Here, since its name may have been given up when loseBroken comes. By its revision, since a late try may give it
		// another lease.
		s.abandon(&held{id: h.id, key: h.key, me: me, rev: h.rev, asked: true})
		end, err = time.Now(), lockrt.ErrLost
	}
	s.later(end, func(ctx context.Context) error {
		err := s.endKept(ctx, grant.ID)
		if err == nil {
			named(h.key, h.id)
		}
		return err
	})
	if isFull(err) { // etcd may have applied it all the same
		h.asked = true
		return s.keepAsItIs(ctx, h, began, keep)
	}
	return err
}

// keptBroken reports whether a lease had been broken before its lock was kept. r begins with what was put, and ends with what the
// session was told.
func (s *session) keptBroken(h *held, r *etcd.TxnResponse) bool {
	was, told := r.Responses[0].GetResponsePut().PrevKv, r.Responses[len(r.Responses)-1].GetResponseRange().Kvs
	return was != nil && entryOf(was).Broken != "" || len(told) > 0 || s.wasTold(h.id)
}

// keepAsItIs keeps a lock in a full database, which takes deletions alone: its contender stays, and is deleted then, or if
// the session closes before it ends with its class. Until then a Break has to find it, whose name may have been given up.
func (s *session) keepAsItIs(ctx context.Context, h *held, began time.Time, keep time.Duration) error {
	end, told := time.Now().Add(keep), etcd.OpGet(s.space.told(s.id, h.id))
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(createdAt(h.me, h.rev)).Then(told, etcd.OpGet(h.me)).Else(told).Commit()
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	_, broken := s.losing[h.id]
	broken = broken || len(r.Responses[0].GetResponseRange().Kvs) > 0
	switch {
	case !r.Succeeded && !broken && h.asked && time.Since(began) >= keep:
		s.mu.Unlock()
		return errOver // an earlier try may have kept it for as long as it was to be
	case !r.Succeeded || broken || entryOf(r.Responses[1].GetResponseRange().Kvs[0]).Broken != "":
		s.abandonLocked(h)
		s.mu.Unlock()
		return lockrt.ErrLost
	}
	one := s.returnLocked(h.id)
	one.me, one.rev, one.frees = h.me, h.rev, true
	s.mu.Unlock()
	kept := s.keepClasses(h, end)
	s.laterUntil(end, func(context.Context) error {
		s.abandon(h)
		return nil
	}, func() {
		kept()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returnedLocked(h.id)
	})
	return nil
}

// endKept revokes the lease of a kept lock, and with it the lock.
func (s *session) endKept(ctx context.Context, id etcd.LeaseID) error {
	_, err := write(ctx, s, ending, func(ctx context.Context) (*etcd.LeaseRevokeResponse, error) {
		return s.client.Revoke(ctx, id)
	})
	if isNoLease(err) {
		return nil
	}
	return err
}

// keepClasses has the classes stay that a lock may be under, until the returned function is called. A session that closes
// before, and before end, leaves them to run out.
func (s *session) keepClasses(h *held, end time.Time) (kept func()) {
	if h == nil || h.class == nil {
		return func() {} // an earlier release of it failed, and has told them
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keptUntil(h.keepLocked(end))
}

// keptUntil returns what ends the keeping of classes.
func (s *session) keptUntil(classes []*class) (kept func()) {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.endKeepingLocked(classes)
	}
}

// keepLocked has the classes stay that the lock may be under; mu is held.
func (h *held) keepLocked(end time.Time) []*class {
	classes := h.classes()
	for _, c := range classes {
		if c.keeping++; end.After(c.kept) {
			c.kept = end
		}
	}
	return classes
}

func (s *session) endKeepingLocked(classes []*class) {
	for _, c := range classes {
		c.keeping--
		s.revokeLostLocked(c)
	}
}
