package memstore

import (
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// lock is one key that is taken or waited for. Its methods need Store.mu. A lock without holders and waiters is removed
// from the store, so free keys cost nothing.
type lock struct {
	store *Store
	name  name

	holders []holder  // in order of their grants, all of one kind; some may be over, see drop
	alone   [1]holder // where an exclusive holder stands, so that it costs no memory of its own
	queue   queue
	timer   *time.Timer // runs while somebody waits: admits at the next end that may make room
}

// held reports whether the lock is taken at now.
func (l *lock) held(now time.Time) bool {
	return slices.ContainsFunc(l.holders, func(h holder) bool { return h.live(now) })
}

// find returns the live holder with a lease id, nil if there is none.
func (l *lock) find(id string, now time.Time) *holder {
	for i := range l.holders {
		if h := &l.holders[i]; h.id == id && h.live(now) {
			return h
		}
	}
	return nil
}

// fits reports whether a request can be granted beside those who hold the lock.
func (l *lock) fits(req *lockrt.Request) bool {
	if len(l.holders) == 0 {
		return true
	}
	held := &l.holders[0]
	switch {
	case req.Permits > 0:
		return held.permits > 0 && len(l.holders) < req.Permits
	case req.Mode == lockrt.Read:
		return held.mode == lockrt.Read
	}
	return false
}

// grant makes a lease one of the holders, beside which it fits.
func (l *lock) grant(s *session, req *lockrt.Request, now time.Time) lockrt.Grant {
	g := lockrt.Grant{Start: now, TTL: req.TTL}
	if req.Permits > 0 {
		g.Slot = int(l.freeSlot())
	}
	if req.Mode == lockrt.Read && len(l.holders) > 0 {
		g.Epoch = l.holders[0].epoch // nobody has written since
	} else {
		g.Epoch = l.store.nextEpoch(now)
	}
	if len(l.holders) == 0 {
		l.holders = l.alone[:0]
	}
	l.holders = append(l.holders, holder{})
	h := &l.holders[len(l.holders)-1]
	h.id, h.session, h.epoch, h.since, h.expires = req.ID, s, g.Epoch, now, now.Add(req.TTL)
	h.mode, h.permits, h.slot = req.Mode, int16(req.Permits), int16(g.Slot)
	return g
}

// freeSlot is the lowest that no holder has.
func (l *lock) freeSlot() int16 {
	slot := int16(0)
	taken := func(h holder) bool { return h.slot == slot }
	for slices.ContainsFunc(l.holders, taken) {
		slot++
	}
	return slot
}

// update lets the holders go whose leases are over, and admits whoever has room then.
func (l *lock) update(now time.Time) {
	if len(l.holders) == 0 && l.queue.len() == 0 {
		return
	}
	l.holders = slices.DeleteFunc(l.holders, func(h holder) bool { return !h.live(now) })
	if l.admit(now) {
		l.settle(now)
	}
}

// admit grants the lock to the first in the queue, and to those behind it, as long as they fit.
func (l *lock) admit(now time.Time) (admitted bool) {
	for first := l.queue.front(); first != nil && l.fits(&first.req); first = l.queue.front() {
		l.queue.remove(first.req.ID)
		first.granted <- l.grant(first.session, &first.req, now)
		admitted = true
	}
	return admitted
}

// changed follows every change of those who hold the lock or wait for it.
func (l *lock) changed(now time.Time) {
	l.update(now)
	l.settle(now)
}

// settle restores what must hold after every change: waiters imply a timer, nothing implies no lock. Readers hear that
// somebody waits.
func (l *lock) settle(now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	switch {
	case l.queue.len() > 0:
		l.timer = time.AfterFunc(l.roomAt().Sub(now), l.expire)
		l.recall()
	case !l.held(now):
		delete(l.store.locks, l.name)
	}
}

// roomAt is when the first in the queue has room if no lease is renewed or released: for one of several permits at the
// first end, for all others at the last.
func (l *lock) roomAt() time.Time {
	if first := l.queue.front(); first != nil && first.req.Permits > 0 {
		return l.nextEnd()
	}
	return l.lastEnd()
}

// nextEnd is the end of the first of several permits, or the last of several readers: then another fits.
func (l *lock) nextEnd() time.Time {
	if len(l.holders) > 0 && l.holders[0].permits > 0 {
		return slices.MinFunc(l.holders, byEnd).expires
	}
	return l.lastEnd()
}

func (l *lock) lastEnd() time.Time {
	if len(l.holders) == 0 {
		return time.Time{}
	}
	return slices.MaxFunc(l.holders, byEnd).expires
}

// recall tells the readers who hold the lock that somebody waits behind them.
func (l *lock) recall() {
	for i := range l.holders {
		h := &l.holders[i]
		if h.mode == lockrt.Read && !h.recalled && h.session.cfg.Recall != nil {
			h.recalled = true
			l.store.recalls = append(l.store.recalls, recall{h.session.cfg.Recall, h.id})
		}
	}
}

// expire runs when a lease may have run out while somebody waits.
func (l *lock) expire() {
	l.store.mu.Lock()
	defer l.store.unlock()
	if l.queue.len() > 0 { // else they have all left, and the lock may be forgotten
		l.changed(time.Now())
	}
}

// end takes a holder off the lock, at once or, with keep, after that time.
func (l *lock) end(h *holder, keep time.Duration, now time.Time) {
	if keep == 0 && l.queue.len() == 0 && !h.shared() { // nearly always: nobody is beside it, and nobody waits
		l.holders = nil
		delete(l.store.locks, l.name)
		return
	}
	h.id, h.session, h.broken, h.expires = "", nil, false, now.Add(keep)
	l.changed(now)
}

// enqueue adds a waiter at the end.
func (l *lock) enqueue(w *waiter, now time.Time) {
	l.queue.push(w)
	l.settle(now)
}

// withdraw removes a waiter that gave up, which may make room for those behind it. If it was granted the lock in the
// same moment, that grant ends.
func (l *lock) withdraw(id string, now time.Time) {
	if l.queue.remove(id) {
		l.changed(now)
	} else if h := l.find(id, now); h != nil {
		l.end(h, 0, now)
	}
}
