package etcdstore

import (
	"errors"
	"slices"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// held is a lease that this session was granted and has not seen the end of.
type held struct {
	id, key string
	me      string // the key of the contender
	rev     int64  // of the contender's creation
	class   *class
	moving  []trip        // by requests under way
	maybe   []trip        // by requests that had no answer: it may move, or have moved
	moved   int64         // the revision of the contender's last change that is known
	ttl     time.Duration // as the entry has it
	permits int           // 0 without permits
	slot    int           // of a permit
	until   time.Time     // then it is over, unless it was renewed
	doubt   int64         // the generation of a request for it that had no answer, and may still come; 0: all had
	asked   bool          // a release of it had no answer, or may be under way: its name is not to be used again
	swept   bool          // it was given up and deleted, but its generation lasts
	keeps   []*class      // that stay for it while it is presumed to be lost

	heapIndex int
}

// trip is that of a contender to a class, by a request that refuses itself if the contender has another revision.
type trip struct {
	to   *class
	from int64
}

// classes are those that have the lease as a user. The first is the one of the contender, as far as is known.
func (h *held) classes() []*class {
	all := []*class{h.class}
	for _, t := range slices.Concat(h.maybe, h.moving) {
		all = append(all, t.to)
	}
	return all
}

// othersLocked are the classes under which the contender may come yet, or be by now. session.mu is held, as by what follows.
func (h *held) othersLocked() (all []*class) {
	if len(h.maybe)+len(h.moving) == 0 {
		return nil
	}
	for _, t := range slices.Concat(h.maybe, h.moving) {
		if t.from >= h.moved {
			all = append(all, t.to)
		}
	}
	return all
}

// agedLocked reports whether one of the classes is aged under which the contender may be.
func (h *held) agedLocked() bool {
	return h.class.aged || slices.ContainsFunc(h.othersLocked(), func(c *class) bool { return c.aged })
}

// hold remembers a lease. The class has it as a user from here on. It does nothing, and returns why, if the lease was
// broken or the class is over.
func (s *session) hold(h *held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, broken := s.losing[h.id]; broken {
		return waits.ErrBroken
	}
	if h.class.over {
		return errClassOver
	}
	if old := s.leases[h.id]; old != nil { // the request was repeated
		h.doubt = max(h.doubt, old.doubt)
		if old.until.After(h.until) {
			h.until = old.until
		}
		h.maybe, old.maybe = old.maybe, nil
		h.moving, old.moving = old.moving, nil
		h.moved = max(h.moved, old.moved)
		s.dropLocked(old)
	}
	h.class.users++
	s.leases[h.id] = h
	if h.agedLocked() {
		s.rehouseLocked()
	}
	s.ends.Set(h, h.until)
	s.cleanByLocked(h.until)
	return nil
}

var errClassOver = errors.New("the lease of etcd was lost meanwhile")

// takeLocked removes a lease from those that are held, or that are presumed to be lost; nil: it is none of them.
func (s *session) takeLocked(id string) *held {
	if h := s.leases[id]; h != nil {
		s.dropLocked(h)
		return h
	}
	h := s.presumed[id]
	if h != nil {
		delete(s.presumed, id)
		s.endKeepingLocked(h.keeps)
	}
	return h
}

func (s *session) dropLocked(h *held) {
	if s.leases[h.id] == h {
		delete(s.leases, h.id)
		s.ends.Remove(h)
		for _, c := range h.classes() {
			s.leaveLocked(c)
		}
	}
}

// drop is takeLocked for a lease whose contender has gone.
func (s *session) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeLocked(id)
}
