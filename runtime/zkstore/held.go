package zkstore

import (
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// place is a contender of this process.
type place struct {
	l       *link
	key, id string
	path    string
	zxid    int64 // of its creation
	version int32 // of its data, as far as is known
}

// held is a lease that this session was granted and has not seen the end of.
type held struct {
	place
	ttl   time.Duration // as the entry has it
	until time.Time     // then it is over, unless it was renewed
	asked bool          // a change of it had no answer

	heapIndex int
}

// hold remembers a lease. It does nothing, and returns why, if the lease was broken or its link is over.
func (s *session) hold(h *held) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, broken := s.losing[h.id]; broken {
		return waits.ErrBroken
	}
	if h.l.isOver() {
		return errExpired
	}
	if old := s.leases[h.id]; old != nil { // the request was repeated
		if old.until.After(h.until) {
			h.until = old.until
		}
		s.dropLocked(old)
	}
	s.leases[h.id] = h
	s.weight += h.weight()
	s.ends.Set(h, h.until)
	if first, _ := s.ends.First(); first == h {
		pace.Wake(s.wakeClean)
	}
	return nil
}

func (s *session) dropLocked(h *held) {
	if s.leases[h.id] == h {
		delete(s.leases, h.id)
		s.weight -= h.weight()
		s.ends.Remove(h)
		if s.ctx.Err() != nil && len(s.leases) == 0 {
			pace.Wake(s.wakeClean)
		}
	}
}

// drop removes a lease from those that are held.
func (s *session) drop(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(h)
}

// lose ends all leases of a link that is over. Waiters join again.
func (s *session) lose(l *link) {
	s.mu.Lock()
	var lost []string
	for id, h := range s.leases {
		if h.l == l {
			lost = append(lost, id)
			s.dropLocked(h)
		}
	}
	s.mu.Unlock()
	for _, id := range lost {
		s.Lost(id, errExpired)
	}
	s.askAll()
}

// loseBroken ends a lease that was broken, and then lets the lock go on.
func (s *session) loseBroken(id string, reason error) {
	s.mu.Lock()
	_, known := s.losing[id]
	s.losing[id] = time.Now()
	var at *place
	if h := s.leases[id]; h != nil {
		at = &h.place
		s.dropLocked(h)
	}
	w := s.waiters[id]
	s.mu.Unlock()
	if w != nil && !known {
		w.end(reason)
	}
	s.calls.Start(func() {
		if !known {
			s.Lost(id, reason)
		}
		if at != nil {
			s.leave(at)
		}
	})
}
