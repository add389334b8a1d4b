package sqlstore

import (
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// waiter is one Acquire that may have to wait.
type waiter struct {
	q     *request
	watch *watch     // guarded by session.mu; nil: it is not known to stand in the queue
	news  chan heard // buffered: the last word of a poll
	lost  chan error // buffered: the lease was broken, and why
}

// say leaves the waiter a poll's word in place of one that it has not heard. session.mu is held, so that there is one
// that says.
func (w *waiter) say(h heard) {
	select {
	case <-w.news:
	default:
	}
	w.news <- h
}

// tell lets the owner of a row that was written know, if it waits in this session. The poll that follows is for all who
// wait: one that was under way may take this word's place.
func (s *session) tell(r row, clock clockPair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiters[r.owner]; w != nil {
		w.say(heard{answer: answer{
			outcome: granted, epoch: uint64(r.epoch), since: r.since, until: r.until, clock: clock,
		}})
	}
}

// watch is a lock that this session waits for. It is guarded by session.mu.
type watch struct {
	name    []byte
	hash    string // what rings call it
	waiters []*waiter
	turn    int64         // which of the lock's grants should be that of the first of them
	hold    time.Duration // how long the lock is held, on an average; 0: not known
	state   rowState      // as of the last poll
	over    int           // how many polls have found it over
	unheard bool          // the last poll had no answer
	looked  time.Time     // when somebody was last sent to look for the dead in the queue, where several hold the lock

	// soon is set when it is to be asked about at once, until it is: a question that is under way may have been answered
	// before what happened.
	soon bool

	heapPlace int
}

func (s *session) enlist(q *request) *waiter {
	w := &waiter{q: q, news: make(chan heard, 1), lost: make(chan error, 1)}
	s.mu.Lock()
	s.waiters[q.id] = w
	s.mu.Unlock()
	return w
}

// delist makes sure that nobody reaches the waiter any more.
func (s *session) delist(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiters[w.q.id] == w {
		delete(s.waiters, w.q.id)
	}
	watched := w.watch
	if watched == nil {
		return
	}
	for i, other := range watched.waiters {
		if other == w {
			watched.waiters = append(watched.waiters[:i:i], watched.waiters[i+1:]...)
			break
		}
	}
	if len(watched.waiters) == 0 {
		s.polls.Remove(watched)
		delete(s.watches, string(watched.name))
	}
}

// queued has a lock polled for a waiter that stands in its queue.
func (s *session) queued(w *waiter, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.watch == nil {
		w.watch = s.watches[string(w.q.name)]
		if w.watch == nil {
			w.watch = &watch{name: w.q.name, hash: hashOf(w.q.name)}
			s.watches[string(w.q.name)] = w.watch
			pace.Wake(s.wakeKeeper)
			pace.Wake(s.wakeFeeler)
		}
		w.watch.waiters = append(w.watch.waiters, w)
	}
	if turn := a.turns + int64(a.place); w.watch.turn == 0 || turn < w.watch.turn || len(w.watch.waiters) == 1 {
		w.watch.turn = turn
	}
	age := fromMicros(a.clock.Micros - a.since)
	s.pollAt(w.watch, s.interval(w.watch, a.turns, age, a.remaining()))
}

// isWatched reports whether somebody of this session waits for a lock: then it is not free.
func (s *session) isWatched(name []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[string(name)] != nil
}

// pollAt sets when a lock is asked about next, if not at once; mu is held.
func (s *session) pollAt(w *watch, in time.Duration) {
	if w.soon {
		in = 0
	}
	s.polls.Set(w, time.Now().Add(in))
	if first, _ := s.polls.First(); first == w {
		pace.Wake(s.wakePoller)
	}
}

// interval is when to ask about a lock that has been held for age and should be over after remaining: twice in the time
// that the wait is expected to last, and when the lease in the way ends. Where the lock is held for longer than it was
// on an average, that is not known, and it may be for as long again.
func (s *session) interval(w *watch, turns int64, age, remaining time.Duration) time.Duration {
	before := time.Duration(max(w.turn-turns-1, 0))
	expected := before*max(w.hold, age/4) + max(w.hold-age, (age-w.hold)/2)
	in := min(max(expected/2, s.cfg.PollMin), s.cfg.PollMax)
	in -= pace.Jitter(in/8) / 2
	switch {
	case s.bell.heard.Load():
		in = s.seldom()
	case s.feels.Load():
		in = s.cfg.PollMax
	}
	return max(min(in, remaining+time.Millisecond+pace.Jitter(10*time.Millisecond)), s.cfg.PollMin/2)
}
