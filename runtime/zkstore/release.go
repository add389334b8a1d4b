package zkstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Release implements lockrt.Session. The contender has a name of its own, so no other lock is ever released.
func (s *session) Release(ctx context.Context, rel lockrt.Release) error {
	h := s.takeToRelease(rel.ID)
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	err := s.release(limited, rel, h)
	if err != nil && !errors.Is(err, lockrt.ErrLost) && h != nil {
		s.releaseLater(rel, h)
	}
	s.joined(rel.ID, nil)
	s.mu.Lock()
	s.releasing--
	if h != nil {
		s.weight -= h.weight()
	}
	if !s.linger.IsZero() {
		s.linger = time.Now().Add(lingerTime)
		pace.Wake(s.wakeClean)
	}
	s.mu.Unlock()
	return explain(ctx, began, err)
}

// takeToRelease removes a lease from those that are held. The session is not done before its release is over.
func (s *session) takeToRelease(id string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.leases[id]
	s.releasing++
	s.joining[id]++ // or seek would take its contender for one that nobody owns, before it is kept
	if h != nil {
		s.dropLocked(h)
		s.weight += h.weight()
	}
	return h
}

// release ends a lease.
func (s *session) release(ctx context.Context, rel lockrt.Release, h *held) error {
	if h == nil {
		var err error
		if h, err = s.findHeld(ctx, rel); err != nil {
			return err
		}
	}
	if rel.Keep > 0 {
		return s.keep(ctx, h, rel.Keep)
	}
	sent := time.Now()
	_, unheard, err := repeat(ctx, h.l, func(c *zk.Conn) (struct{}, error) {
		sent = time.Now()
		return struct{}{}, c.Delete(h.path, h.version)
	})
	switch {
	case err == nil:
		h.l.wrote(sent)
		return nil
	case errors.Is(err, zk.ErrNoNode) && (unheard || h.asked):
		return s.goneMeanwhile(ctx, h)
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, errExpired):
		return lockrt.ErrLost
	case errors.Is(err, zk.ErrBadVersion):
		if err := s.changedMeanwhile(ctx, h); err != nil {
			return err
		}
		return s.release(ctx, rel, h)
	}
	return err
}

// changedMeanwhile learns what a contender is that is to be released and is not as this process knows it: a change of it
// crossed with the release, or had no answer. If the lease was broken it ends it and returns ErrLost.
func (s *session) changedMeanwhile(ctx context.Context, h *held) error {
	n, err := h.l.get(ctx, h.path)
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, errExpired):
		return lockrt.ErrLost
	case err != nil:
		return err
	case entryOf(n.data).Broken != "":
		s.leave(&h.place)
		return lockrt.ErrLost
	}
	h.version = n.stat.Version
	return nil
}

// goneMeanwhile is the result of a release whose contender has gone: nil if an earlier attempt has deleted it, and ErrLost if
// somebody has broken the lease before. Where that cannot be asked for, it was an earlier attempt.
func (s *session) goneMeanwhile(ctx context.Context, h *held) error {
	n, _ := h.l.get(ctx, h.l.path)
	broken := slices.ContainsFunc(toldOf(n.data), func(t told) bool { return t.ID == escape(h.id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, heard := s.losing[h.id]; heard || broken { // it is heard of before it is taken from there
		return lockrt.ErrLost
	}
	return nil
}

// findHeld returns the lease that holds the lock under this ID, although this session does not know it: an earlier
// release of it failed, or it is of another session.
func (s *session) findHeld(ctx context.Context, rel lockrt.Release) (*held, error) {
	l, err := s.link(ctx)
	if errors.Is(err, lockrt.ErrClosed) {
		return nil, lockrt.ErrLost // it has gone with the session
	}
	if err == nil {
		err = l.sync(ctx)
	}
	if err != nil {
		return nil, err
	}
	a, err := l.look(ctx, rel.Key, nil)
	if err != nil || a.head == "" {
		return nil, errOrLost(err)
	}
	n, err := l.get(ctx, a.head)
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	id, ok := s.idOf(rel.Key, a.head)
	if e := entryOf(n.data); err != nil || n.stat == nil || !ok || id != rel.ID || e.Kept || e.Broken != "" {
		return nil, errOrLost(err)
	}
	return &held{place: place{
		l: l, key: rel.Key, id: rel.ID, path: a.head, zxid: n.stat.Czxid, version: n.stat.Version,
	}}, nil
}

func errOrLost(err error) error {
	if err != nil {
		return err
	}
	return lockrt.ErrLost
}

// releaseLater goes on with a release that had no answer.
func (s *session) releaseLater(rel lockrt.Release, h *held) {
	h.asked = true
	if rel.Keep == 0 {
		s.leave(&h.place)
		return
	}
	end := time.Now().Add(rel.Keep)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staying[rel.ID] = h.path
	s.weight += h.weight()
	s.addLocked(&chore{weight: h.weight(), do: func(ctx context.Context) error {
		err := s.keepUntil(ctx, h, end)
		if err == nil {
			s.mu.Lock()
			delete(s.staying, rel.ID)
			s.mu.Unlock()
		}
		return err
	}}, time.Now())
}

// keepUntil keeps a lock until then.
func (s *session) keepUntil(ctx context.Context, h *held, end time.Time) error {
	if left := time.Until(end); left > 0 {
		if err := s.keep(ctx, h, left); !errors.Is(err, lockrt.ErrLost) {
			return err
		}
	}
	if err := h.delete(ctx); err != nil {
		return err
	}
	s.endKeptAt(end, h) // by an attempt whose answer was lost
	return nil
}
