package redisstore

import (
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// leftover is a lease that the server may have and nobody wants, or that an acquire which had no answer may still bring
// about. It is cancelled until the server has answered; and once more when the server's clock has passed the latest
// moment at which an unanswered acquire may act: after that nothing can come any more.
type leftover struct {
	id     string
	keys   lockKeys
	wanted bool      // a lease of somebody's; what is left over of it is an unanswered request
	latest int64     // of the unanswered requests, on the server's clock (µs); 0: none
	open   int       // how many those are
	until  time.Time // then the server has forgotten it, whether it was reached or not
	kept   time.Time // not to be cancelled before: its MinHold lasts until then

	state     leftoverState
	again     bool // it is to be cancelled again at once
	heapPlace int  // in the heap
}

type leftoverState int

const (
	asleep leftoverState = iota // in the heap
	ready                       // in the list
	taken                       // being cancelled
)

// doubtTime is how much longer than it should an unanswered request of a lease that somebody holds is remembered. By
// then it has acted, if it ever does: what the lease holds is what it brought about.
const doubtTime = 10 * time.Second

// leftoverOf returns the leftover of a lease, a new one if need be; mu is held.
func (s *session) leftoverOf(id string, keys lockKeys) *leftover {
	l := s.leftovers[id]
	if l == nil {
		l = &leftover{id: id, keys: keys, wanted: true}
		s.leftovers[id] = l
		s.doubtful.Add(1)
	}
	return l
}

// settledBy is when the requests of a leftover have acted, if they ever do.
func (s *session) settledBy(l *leftover) time.Time {
	return s.stripe(l.keys).clock.When(l.latest).Add(doubtTime)
}

// doubt remembers an acquire that had no answer.
func (s *session) doubt(id string, keys lockKeys, latest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftoverOf(id, keys)
	l.open++
	if latest = max(latest, l.latest); l.latest != latest {
		l.latest = latest
		if l.wanted {
			s.sleepers.Set(l, s.settledBy(l))
			s.wakeBefore(s.settledBy(l))
		}
	}
}

// abandon has a lease that its caller gave up taken out of the queue and off the lock, in the background: the server
// may have granted it. It is tried for as long as the server may know of it.
func (s *session) abandon(id string, keys lockKeys, patience time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftoverOf(id, keys)
	s.unwantedLocked(l)
	from := time.Now()
	if l.latest != 0 {
		from = s.settledBy(l)
	}
	if until := from.Add(patience); until.After(l.until) {
		l.until = until
	}
	s.cancelSoon(l)
}

// abandonAfter is abandon for a lease whose release has failed, and which keeps its lock until then.
func (s *session) abandonAfter(id string, keys lockKeys, then time.Time) {
	if !then.After(time.Now()) {
		s.abandon(id, keys, releasePatience)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftoverOf(id, keys)
	s.unwantedLocked(l)
	l.kept, l.until = then, then.Add(releasePatience)
	if l.state == asleep {
		s.sleepers.Set(l, then)
		s.wakeBefore(then)
	}
}

// unwanted is called for a lease that has ended at the server. If a request for it is still under way, that must not
// bring it back.
func (s *session) unwanted(id string) {
	if s.doubtful.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leftovers[id]; l != nil && l.wanted {
		s.unwantedLocked(l)
		l.until = s.settledBy(l).Add(time.Hour)
		s.cancelSoon(l) // the request may have acted while the release was under way
	}
}

func (s *session) unwantedLocked(l *leftover) {
	if l.wanted {
		l.wanted = false
		s.doubtful.Add(-1)
	}
}

// brought is called when a request of a caller that left may have brought it the lease. If nobody wants that it goes on
// now.
func (s *session) brought(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.leftovers[id]; l != nil && !l.wanted {
		s.cancelSoon(l)
	}
}

// answered is brought for a request that the server has answered: it cannot act any more.
func (s *session) answered(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leftovers[id]
	if l == nil {
		return
	}
	if l.open--; l.open <= 0 {
		l.open, l.latest = 0, 0
	}
	switch {
	case !l.wanted:
		s.cancelSoon(l)
	case l.latest == 0:
		s.forgetLeftover(l)
	}
}

// cancelSoon lets the janitor cancel it next, or when its MinHold is over; mu is held.
func (s *session) cancelSoon(l *leftover) {
	switch l.state {
	case asleep:
		if l.kept.After(time.Now()) {
			s.sleepers.Set(l, l.kept)
			s.wakeBefore(l.kept)
			return
		}
		s.sleepers.Remove(l)
		l.state = ready
		s.ready = append(s.ready, l)
		pace.Wake(s.wakeJanitor)
	case taken:
		l.again = true
	case ready:
	}
}

// wakeBefore wakes the janitor if it would sleep longer; mu is held.
func (s *session) wakeBefore(at time.Time) {
	if at.Before(s.janitorSleeps) {
		s.janitorSleeps = at
		pace.Wake(s.wakeJanitor)
	}
}

// forgetLeftover drops a leftover; mu is held.
func (s *session) forgetLeftover(l *leftover) {
	s.unwantedLocked(l)
	s.sleepers.Remove(l)
	delete(s.leftovers, l.id)
}
