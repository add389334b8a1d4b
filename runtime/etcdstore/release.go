package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Release implements lockrt.Session. It compares the revision of the contender's creation, and not only its name.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	h, mayKeep, kept := s.takeToRelease(rel)
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	err := lockrt.ErrLost
	if mayKeep || rel.Keep == 0 {
		err = s.release(limited, rel, h)
	}
	if err != nil && !errors.Is(err, lockrt.ErrLost) {
		s.releaseLater(began, rel, h)
	}
	kept()
	s.mu.Lock()
	s.releasing--
	s.returnedLocked(rel.ID)
	s.mu.Unlock()
	s.revokeLast(ctx, began, err)
	return explain(ctx, began, err)
}

// revokeLast ends the etcd leases if this was the last release of a session that is closed. It waits for that until ctx
// ends. After that Close does. Servers that have not answered the release get little time.
func (s *session) revokeLast(ctx context.Context, began time.Time, err error) {
	all, last := s.takeClasses()
	if !last {
		return
	}
	limit := attemptTime
	if err == nil || errors.Is(err, lockrt.ErrLost) {
		limit = max(callTime-time.Since(began), limit)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	ended := make(chan struct{})
	s.mu.Lock()
	s.endings = append(s.endings, ended)
	s.mu.Unlock()
	s.calls.Start(func() {
		defer close(ended)
		defer cancel()
		s.revokeThese(limited, all)
		s.nothingLeft()
	})
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// returning are the releases of a lease.
type returning struct {
	count int
	frees bool   // one of them deletes the contender, or something else that goes on does
	me    string // the key of the contender, if one of them had it,
	rev   int64  // and the revision of its creation
}

// takeToRelease removes a lease from those that are held. The session does not end before its release is over, nor, if the lock
// is to be kept, its classes before kept is called. The lock may not be kept of a lease that has ended in another way than by a
// release: what deletes its contender may be under way.
func (s *session) takeToRelease(rel lockrt.Release) (h *held, mayKeep bool, kept func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releasing++
	kept = func() {}
	if known := cmp.Or(s.leases[rel.ID], s.presumed[rel.ID]); known != nil && rel.Keep > 0 {
		kept = s.keptUntil(known.keepLocked(time.Now().Add(rel.Keep)))
	}
	h = s.takeLocked(rel.ID)
	r := s.returnLocked(rel.ID)
	mayKeep = h != nil || r.count > 1 && !r.frees
	if h != nil {
		r.me, r.rev = h.me, h.rev
	}
	r.frees = r.frees || !mayKeep || rel.Keep == 0
	return h, mayKeep, kept
}

// freesNow is for a release that deletes the contender from here on.
func (s *session) freesNow(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returning[id].frees = true
}

// returnLocked counts a release of a lease until returnedLocked; mu is held.
func (s *session) returnLocked(id string) *returning {
	r := s.returning[id]
	if r == nil {
		r = new(returning)
		s.returning[id] = r
	}
	r.count++
	return r
}

func (s *session) returnedLocked(id string) {
	r := s.returning[id]
	if r.count--; r.count == 0 {
		delete(s.returning, id)
	}
}

// release ends a lease. It repeats what had no answer, and knows that a contender which is gone after that was deleted
// by it.
func (s *session) release(ctx context.Context, rel lockrt.Release, h *held) (err error) {
	known := h != nil
	if !known {
		if h, err = s.find(ctx, rel); err != nil {
			return err
		}
	}
	if rel.Keep > 0 {
		return s.keep(ctx, h, rel.Keep)
	}
	if known && h.doubt == 0 && !h.asked {
		if done, err := s.free(ctx, h); done {
			return err
		}
		ctx = etcd.WithRequireLeader(ctx) // as repeat does: the one that was silent may be asked again
	}
	return s.freeSure(ctx, h)
}

// free deletes a contender by its name, which is the cheapest request that etcd has for it. Only its answer lets the name be used
// again: whatever else ends a lease that is being released gives the name up for good. free reports false for a request that may
// come late, and for one that was not taken.
func (s *session) free(ctx context.Context, h *held) (done bool, err error) {
	end := &change{lock: lockPrefix(h.me), thens: []etcd.Op{etcd.OpDelete(h.me, etcd.WithPrevKV())}}
	r, err := s.commit(ctx, &s.frees, end)
	if err != nil {
		if h.asked = mayHaveRun(err); h.asked {
			s.unsure(h.key, h.id) // at once: another release would give the name back
		}
		return !h.asked && !retryable(err), err
	}
	s.gone(h.key, h.id)
	if deleted := r.Responses[0].GetResponseDeleteRange(); deleted.Deleted == 0 || wasBroken(deleted) {
		return true, lockrt.ErrLost
	}
	return true, nil
}

// freeSure deletes a contender if it is the one that was granted. It may be repeated. Where an earlier request may have
// deleted it, what the session was told says whether the lease was broken before.
func (s *session) freeSure(ctx context.Context, h *held) error {
	me := h.me
	ops, other := s.ending(h, etcd.OpDelete(me, etcd.WithPrevKV())), s.endingOther(h)
	r, unanswered, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(createdAt(me, h.rev)).Then(ops...).Else(other...).Commit()
	})
	if err != nil {
		return err
	}
	if !h.asked && h.doubt == 0 {
		s.gone(h.key, h.id)
	} else { // a request for it may still come, or one that deletes it by its name
		s.unsure(h.key, h.id)
	}
	switch {
	case !r.Succeeded && !unanswered && !h.asked:
		return lockrt.ErrLost
	case !r.Succeeded && (s.wasTold(h.id) || len(r.Responses[0].GetResponseRange().Kvs) > 0):
		return lockrt.ErrLost
	case r.Succeeded && wasBroken(r.Responses[0].GetResponseDeleteRange()):
		return lockrt.ErrLost
	}
	return nil
}

// wasTold reports whether the session knows that a lease was broken.
func (s *session) wasTold(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, told := s.losing[id]
	return told
}

// ending adds to the end of a lease that of the session's generation, if a request for the lease may still come.
func (s *session) ending(h *held, end etcd.Op) []etcd.Op {
	g := s.standing()
	if h.doubt == 0 || g.generation != h.doubt {
		return []etcd.Op{end}
	}
	return []etcd.Op{end, s.endOf(g)}
}

// endingOther is what is done where the contender is gone that was granted: it reads what the session was told of the lease, and
// ends what another request for it has put since, or may put.
func (s *session) endingOther(h *held) []etcd.Op {
	ops := s.ending(h, etcd.OpGet(s.space.told(s.id, h.id)))
	if h.doubt != 0 { // its name is never used again
		ops = append(ops, etcd.OpDelete(h.me))
	}
	return ops
}

// brokenMark is in the value of every contender that is broken. Looking for it costs less than reading the value.
var brokenMark = []byte(`"broken":`)

func wasBroken(deleted *pb.DeleteRangeResponse) bool {
	for _, kv := range deleted.PrevKvs {
		if bytes.Contains(kv.Value, brokenMark) && entryOf(kv).Broken != "" {
			return true
		}
	}
	return false
}

// find returns the lease that holds the lock under this ID, although this session does not know it any more: an earlier
// release of it failed.
func (s *session) find(ctx context.Context, rel lockrt.Release) (*held, error) {
	kv, err := s.holder(ctx, rel.Key, rel.ID)
	if err != nil {
		return nil, err
	}
	if kv == nil || entryOf(kv).Broken != "" {
		return nil, lockrt.ErrLost
	}
	e := entryOf(kv)
	return &held{
		id: rel.ID, key: rel.Key, me: string(kv.Key), rev: kv.CreateRevision, permits: e.Permits, slot: e.Slot, asked: true,
	}, nil
}

// holder returns the contender with the ID if it holds the lock, else nil. It may be one of another session.
func (s *session) holder(ctx context.Context, key, id string) (*mvccpb.KeyValue, error) {
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.lock(key), oldest(0)...)
	})
	if err != nil {
		return nil, err
	}
	for i, kv := range r.Kvs {
		e := entryOf(kv)
		if e.ID != id || e.Kept {
			continue
		}
		if e.In || i == 0 && !e.shared() {
			return kv, nil
		}
	}
	return nil, nil
}

// releaseLater goes on with a release that has begun, and had no answer.
func (s *session) releaseLater(began time.Time, rel lockrt.Release, h *held) {
	end := began.Add(rel.Keep)
	if h != nil {
		h.asked = true // another release may be faster, and give the name back
	}
	kept := func() {}
	if rel.Keep > 0 {
		kept = s.keepClasses(h, end)
	}
	s.mu.Lock()
	s.returnLocked(rel.ID)
	s.mu.Unlock()
	s.laterUntil(time.Now(), func(ctx context.Context) error {
		rel := rel
		if rel.Keep > 0 {
			rel.Keep = max(time.Until(end), 0)
		}
		if rel.Keep == 0 {
			s.freesNow(rel.ID)
		}
		limited, cancel := bounded(ctx)
		defer cancel()
		err := s.release(limited, rel, h)
		if errors.Is(err, lockrt.ErrLost) {
			return nil
		}
		return err
	}, func() {
		kept()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returnedLocked(rel.ID)
	})
}
