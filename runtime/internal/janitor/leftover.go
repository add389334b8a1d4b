package janitor

import (
	"time"

	"github.com/lockgen/lockgen/internal/pace"
)

// leftover is what is remembered of a lease.
type leftover[K any] struct {
	Lease[K]
	wanted bool      // a lease of somebody's; what is left over of it is an unanswered request
	latest int64     // of the unanswered requests, on the server's clock (µs); 0: none
	open   int       // how many those are
	until  time.Time // then the lease is over, whether the server was reached or not
	kept   time.Time // not to be cancelled before: it keeps its lock until then

	busy      bool // it is being cancelled
	again     bool // and is to be cancelled once more after that
	heapIndex int
}

// doubtTime is how much longer than it should an unanswered request of a lease that somebody holds is remembered. By
// then it has acted, if it ever does: what the lease holds is what it brought about.
const doubtTime = 10 * time.Second

// wantedTime is how long it is tried to cancel what a request of a lease has brought about that has ended.
const wantedTime = time.Hour

// of returns the leftover of a lease, a new one if need be; mu is held.
func (j *Janitor[K]) of(id string, key K) *leftover[K] {
	l := j.byID[id]
	if l == nil {
		l = &leftover[K]{Lease: Lease[K]{id, key}, wanted: true}
		j.byID[id] = l
		j.doubtful.Add(1)
	}
	return l
}

// settled is when the requests of a lease have acted, if they ever do.
func (j *Janitor[K]) settled(l *leftover[K]) time.Time {
	return j.cfg.When(l.Key, l.latest).Add(doubtTime + j.lag())
}

// Doubt remembers a request for a lease that had no answer, and may act until the server's clock shows latest (µs).
func (j *Janitor[K]) Doubt(id string, key K, latest int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.of(id, key)
	l.open++
	if latest <= l.latest {
		return
	}
	l.latest = latest
	if l.wanted {
		j.set(l, j.settled(l))
	}
}

// Abandon has a lease cancelled that its caller gave up: the server may have granted it. It is tried for as long as the
// server may know of it, patience from when its requests have acted.
func (j *Janitor[K]) Abandon(id string, key K, patience time.Duration) {
	j.AbandonAfter(id, key, time.Time{}, patience)
}

// AbandonAfter is Abandon for a lease that keeps its lock until then. If that is later than the end of the session it is
// left alone.
func (j *Janitor[K]) AbandonAfter(id string, key K, then time.Time, patience time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.of(id, key)
	j.unwanted(l)
	if !then.IsZero() {
		l.kept = then
	}
	from := time.Now()
	if l.latest != 0 {
		from = j.settled(l)
	}
	if then.After(from) {
		from = then
	}
	if until := from.Add(patience); until.After(l.until) {
		l.until = until
	}
	j.set(l, time.Now())
}

// Unwanted is called for a lease that has ended at the server. If a request for it is still under way, that must not
// bring it back.
func (j *Janitor[K]) Unwanted(id string) {
	if j.doubtful.Load() == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.byID[id]; l != nil && l.wanted {
		j.unwanted(l)
		l.until = j.settled(l).Add(wantedTime)
		j.set(l, time.Now()) // the request may have acted while the release was under way
	}
}

// unwanted marks a lease as nobody's; mu is held.
func (j *Janitor[K]) unwanted(l *leftover[K]) {
	if l.wanted {
		l.wanted = false
		j.doubtful.Add(-1)
	}
}

// Brought is called when a request of a caller that left may have brought it the lease. If nobody wants that it is
// cancelled now.
func (j *Janitor[K]) Brought(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.byID[id]; l != nil && !l.wanted {
		j.set(l, time.Now())
	}
}

// Answered is Brought for a request of [Janitor.Doubt] that the server has answered: it cannot act any more.
func (j *Janitor[K]) Answered(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.byID[id]
	if l == nil {
		return
	}
	if l.open--; l.open <= 0 {
		l.open, l.latest = 0, 0
	}
	switch {
	case !l.wanted:
		j.set(l, time.Now())
	case l.latest == 0:
		j.forget(l)
	}
}

// set says when to look after a lease, which is not before it gives up its lock; mu is held.
func (j *Janitor[K]) set(l *leftover[K], at time.Time) {
	if l.busy {
		l.again = true
		return
	}
	if l.kept.After(at) {
		at = l.kept
	}
	j.due.Set(l, at)
	if first, _ := j.due.First(); first == l {
		pace.Wake(j.wake)
	}
}

// forget drops a lease; mu is held.
func (j *Janitor[K]) forget(l *leftover[K]) {
	j.unwanted(l)
	j.due.Remove(l)
	delete(j.byID, l.ID)
}
