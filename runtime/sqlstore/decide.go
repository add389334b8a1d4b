package sqlstore

import "slices"

// What is to become of a lock is decided here, on the row that was read, and written by a statement that changes
// nothing if the row is another one by then. Nothing here asks or waits.

// outcome is what a request comes to.
type outcome int

const (
	busy    outcome = iota // somebody else holds the lock
	granted                // the lease owns the lock
	broken                 // it does, and an operator broke it
	full                   // the queue takes no more
)

// write is how an outcome comes to be.
type write int

const (
	nothing write = iota // the row stays
	join                 // a line is added to the queue
	change               // the row is replaced
)

// claim is who asks for a lock.
type claim struct {
	place
	wait bool // it joins the queue
}

// maxQueue is how many may stand in a queue. A process has one place in it as a rule, so that this is thousands of
// processes' worth; every change rewrites the queue.
const maxQueue = 1000

// liveness says whether a waiter's process lives, as far as is known. A queue is asked about from the front.
type liveness func(place) bool

// ask decides on a claim. What it returns as the row is what change writes. over says that the last lease has run out,
// and not been given back: its holder may be in a guarded transaction.
func (r row) ask(c claim, now int64, lives liveness) (out outcome, w write, next row, over bool) {
	switch out, has := r.stateOf(c.id, now); {
	case has:
		return out, nothing, r, false
	case !r.shared() && r.held(now):
		out, w, next = r.line(c)
		return out, w, next, false
	}
	over = r.owner != "" && !r.taken(now)
	restated := r.restate(c)
	next, changed := r.refresh(now, func(p place) bool { return p.id == c.id || lives(p) })
	if _, has := next.stateOf(c.id, now); has {
		return granted, change, next, over
	}
	if len(next.queue) == 0 && next.fits(c.kind, now) {
		return granted, change, next.grant(c.place, now), over
	}
	out, w, next = next.line(c)
	switch {
	case changed || restated && c.wait:
		w = change
	case w == join && next.shared() && len(next.queue) == 1 && !c.kind.exclusive():
		w = change // it may fit by the time it joins, and nobody would see to it
	}
	return out, w, next, over
}

// stateOf says what a lease has of the lock: nothing, or an outcome.
func (r *row) stateOf(id string, now int64) (out outcome, has bool) {
	reason := r.broken
	if at := r.holder(id, now); r.shared() && at >= 0 {
		reason = r.holders[at].broken
	} else if !r.owned(id, now) {
		return busy, false
	}
	if reason != "" {
		return broken, true
	}
	return granted, true
}

// line lets a claim stand in the queue of a lock that is held.
func (r row) line(c claim) (outcome, write, row) {
	at := r.find(c.id)
	switch {
	case !c.wait:
		return busy, nothing, r
	case at >= 0 && r.queue[at].ttl == c.ttl && r.queue[at].kind == c.kind:
		return busy, nothing, r
	case at >= 0:
		r.restate(c)
		return busy, change, r
	case len(r.queue) >= maxQueue:
		return full, nothing, r
	}
	r.queue = append(append([]place(nil), r.queue...), c.place)
	return busy, join, r
}

// restate changes what a place in the queue asks for that was kept for another caller. It reports whether there was
// anything to change.
func (r *row) restate(c claim) bool {
	at := r.find(c.id)
	if at < 0 || r.queue[at].ttl == c.ttl && r.queue[at].kind == c.kind {
		return false
	}
	r.queue = slices.Clone(r.queue)
	r.queue[at].ttl, r.queue[at].kind = c.ttl, c.kind
	return true
}

// firstLive returns the first waiter whose process lives, nil if there is none, and those behind it.
func (r row) firstLive(lives liveness) (first *place, rest []place) {
	for i := range r.queue {
		if lives(r.queue[i]) {
			return &r.queue[i], r.queue[i+1:]
		}
	}
	return nil, nil
}

// give makes a waiter the owner. Those before it are dead and dropped.
func (r row) give(to place, rest []place, now int64) row {
	r.epoch, r.turns = max(r.epoch+1, now), r.turns+1
	r.owner, r.session, r.node, r.broken = to.id, to.session, to.node, ""
	r.since, r.until, r.holders = now, now+to.ttl, nil
	r.queue = rest
	return r
}

// pass hands the lock on to those in the queue who live, or frees it.
func (r row) pass(now int64, lives liveness) row {
	next, _ := r.clear().refresh(now, lives)
	return next
}

// release ends a lease. keep is for how long the lock stays taken, by nobody.
func (r row) release(id string, keep, now int64, lives liveness) (next row, ok bool) {
	if at := r.holder(id, now); r.shared() && at >= 0 {
		return r.drop(at, keep, now, lives), true
	}
	switch {
	case !r.owned(id, now):
		return r, false
	case keep > 0:
		r.owner, r.session, r.node, r.broken, r.until = "", "", "", "", now+keep
		return r, true
	}
	return r.pass(now, lives), true
}

// breaking is what a Break changes: it marks the lease, or hands the lock on. ok is false if that lease does not hold
// the lock.
func (r row) breaking(
	id string, epoch int64, force bool, reason string, now int64, lives liveness,
) (w write, next row, ok bool) {
	if r.shared() {
		return r.breakingShare(id, epoch, force, reason, now, lives)
	}
	switch {
	case !r.held(now) || r.owner != id || r.epoch != epoch:
		return nothing, r, false
	case id == "" || force:
		return change, r.pass(now, lives), true
	case r.broken != "":
		return nothing, r, true
	}
	r.broken = reason
	return change, r, true
}
