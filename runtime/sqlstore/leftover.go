package sqlstore

import (
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// leftover is a lease that the table may have and nobody wants, or that a statement without an answer may still bring
// about. It is cancelled until the server has answered; and once more when the server's clock has passed the latest
// moment at which the statement may act: after that nothing can come any more.
type leftover struct {
	id, key string
	wanted  bool      // a lease of somebody's; what is left over of it is an unanswered statement
	latest  int64     // of the unanswered statements, on the server's clock (µs); 0: none
	until   time.Time // then its lease is over, whether the server was reached or not
	backoff time.Duration

	busy      bool // it is being cancelled
	again     bool // and is to be cancelled once more after that
	heapPlace int
}

// doubtTime is how much longer than it should an unanswered statement is remembered of a lease that somebody holds.
const doubtTime = 10 * time.Second

// leftoverOf returns the leftover of a lease, a new one if need be; mu is held.
func (s *session) leftoverOf(id, key string) *leftover {
	l := s.leftovers[id]
	if l == nil {
		l = &leftover{id: id, key: key, wanted: true}
		s.leftovers[id] = l
	}
	return l
}

// doubt remembers that a statement for a lease that somebody has had no answer.
func (s *session) doubt(id, key string, latest int64) {
	if latest == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftoverOf(id, key)
	l.latest = max(l.latest, latest)
	if l.wanted {
		s.chore(l, s.store.clock.When(l.latest).Add(doubtTime))
	}
}

// abandon has a lease that its caller gave up taken out of the queue and off the lock, in the background. It is tried
// for as long as the lease may last. A statement for it that had no answer may act until latest.
func (s *session) abandon(id, key string, latest int64, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftoverOf(id, key)
	l.wanted, l.latest = false, max(l.latest, latest)
	from := time.Now()
	if l.latest != 0 {
		from = s.store.clock.When(l.latest).Add(doubtTime)
	}
	if until := from.Add(patience + 2*s.cfg.Liveness); until.After(l.until) {
		l.until = until
	}
	s.chore(l, time.Now())
}

// unwanted is called for a lease that has ended at the server. If a statement for it may still act, that must not bring
// it back.
func (s *session) unwanted(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, id)
	if l := s.leftovers[id]; l != nil && l.wanted {
		l.wanted = false
		l.until = s.store.clock.When(l.latest).Add(doubtTime + time.Hour)
		s.chore(l, time.Now())
	}
}

// brought is called when the statements of a caller that left are over: they may have brought it the lease.
func (s *session) brought(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leftovers[id]; l != nil && !l.wanted {
		s.chore(l, time.Now())
	}
}

// chore lets the janitor look after a leftover at a time; mu is held.
func (s *session) chore(l *leftover, at time.Time) {
	if l.busy {
		l.again = true
		return
	}
	s.chores.Set(l, at)
	if first, _ := s.chores.First(); first == l {
		pace.Wake(s.wakeJanitor)
	}
}

// forgetLeftover drops a leftover; mu is held.
func (s *session) forgetLeftover(l *leftover) {
	s.chores.Remove(l)
	delete(s.leftovers, l.id)
}
