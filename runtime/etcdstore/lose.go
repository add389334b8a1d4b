package etcdstore

import (
	"context"
	"errors"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// presumption says that etcd has forgotten a lease because one member has said so and none has answered since.
type presumption struct{ error }

func (e presumption) Unwrap() error { return e.error }

// lose ends all leases of a class that etcd has forgotten, as an error says, and with it their keys. Waiters join again.
func (s *session) lose(c *class, noLease error) {
	_, presumed := errors.AsType[presumption](noLease)
	s.mu.Lock()
	c.presumed = c.presumed || presumed
	if !c.over {
		c.ends = time.Now()
		s.forgot[c.id] = c
	}
	s.endClass(c)
	reason := errForgotten
	if c.presumed {
		reason = errPresumed
	}
	var lost []*held
	for _, h := range s.leases {
		// A request that still moves one there will say so itself.
		if h.class == c || slices.ContainsFunc(h.maybe, func(t trip) bool { return t.to == c && t.from >= h.moved }) {
			lost = append(lost, h)
			s.loseLocked(c, h)
		}
	}
	presumed = c.presumed
	s.revokeLostLocked(c)
	s.mu.Unlock()
	for _, h := range lost {
		s.Lost(h.id, reason)
		if !presumed && (h.doubt != 0 || len(h.maybe)+len(h.moving) > 0) { // it may have another class
			s.abandon(h)
		}
	}
	s.askAll()
}

// loseLocked removes a lease from those that are held, with whose class it was lost; mu is held. If etcd may have the class,
// the lock goes on when it is released, or at the end of the lease.
func (s *session) loseLocked(c *class, h *held) {
	if c.presumed {
		if h.until.After(c.ends) {
			c.ends = h.until
		}
		s.presumed[h.id], h.keeps = h, h.keepLocked(h.until)
		s.laterLocked(h.until, func(context.Context) error {
			s.endPresumed(h)
			return nil
		}, nil)
	}
	s.dropLocked(h)
	s.unsureLocked(h.key, h.id)
}

// loseGone ends a lease whose contender somebody has deleted. A request for it may still put another one.
func (s *session) loseGone(id, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.takeLocked(id); h != nil && h.doubt != 0 {
		s.abandonLocked(h)
	} else {
		s.unsureLocked(key, id)
	}
}

// missingLocked is the error of a lease that is not held: it was lost, or is presumed to be, of which the Locker is told. mu is
// held.
func (s *session) missingLocked(id string) error {
	if s.presumed[id] != nil {
		return errPresumed
	}
	return lockrt.ErrLost
}

// whyGone is the same of a class.
func (s *session) whyGone(c *class) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.presumed {
		return errPresumed
	}
	return lockrt.ErrLost
}

// endPresumed has the contender of a lease deleted that was presumed to be lost, and that nobody has released.
func (s *session) endPresumed(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.presumed[h.id] == h {
		s.takeLocked(h.id)
		s.abandonLocked(h)
	}
}

// revokeLostLocked has a class that was lost revoked in the background when nobody uses it any more, nor what is under it, in case
// etcd has it; mu is held.
func (s *session) revokeLostLocked(c *class) {
	if s.forgot[c.id] == c && !c.ending && c.users+c.keeping == 0 {
		c.ending = true
		s.laterLocked(c.ends, func(ctx context.Context) error { return s.revokeLost(ctx, c) }, nil)
	}
}

// errReleasing has the revocation of a class wait: what is being released may be under it.
var errReleasing = errors.New("locks are being released")

func (s *session) revokeLost(ctx context.Context, c *class) error {
	s.mu.Lock()
	c.ending = c.users+c.keeping == 0
	kept, releasing := !c.ending, s.releasing > 0 && time.Since(c.ends) < c.length
	s.mu.Unlock()
	switch {
	case kept:
		return nil // until that is over
	case releasing:
		return errReleasing
	}
	err := s.revoke(ctx, c.id)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.forgot, c.id)
	}
	return err
}
