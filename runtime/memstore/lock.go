package memstore

import (
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// lock is one key that is taken or waited for. Its methods need Store.mu. A lock without owner and waiters is removed
// from the store, so free keys cost nothing.
type lock struct {
	store *Store
	name  name

	owner   owner // the zero value while the key is only kept by MinHold
	expires time.Time
	queue   queue
	timer   *time.Timer // runs while somebody waits: hands on at expires
}

// owner is the lease that holds a lock.
type owner struct {
	id      string
	session *session
	epoch   uint64
	since   time.Time
	broken  bool // it ends at its session's word or its expiry
}

// held reports whether the lock is taken at now.
func (l *lock) held(now time.Time) bool { return now.Before(l.expires) }

// take makes a lease the owner.
func (l *lock) take(s *session, req lockrt.Request, now time.Time) lockrt.Grant {
	l.owner = owner{id: req.ID, session: s, epoch: l.store.nextEpoch(now), since: now}
	l.expires = now.Add(req.TTL)
	return lockrt.Grant{Epoch: l.owner.epoch, Start: now, TTL: req.TTL}
}

// free ends the owner's lease and gives the lock to the first waiter, or removes it.
func (l *lock) free(now time.Time) {
	l.owner, l.expires = owner{}, time.Time{}
	if first := l.queue.pop(); first != nil {
		first.granted <- l.take(first.session, first.req, now)
	}
	l.settle(now)
}

// keep leaves the lock taken by nobody.
func (l *lock) keep(d time.Duration, now time.Time) {
	l.owner, l.expires = owner{since: l.owner.since, epoch: l.owner.epoch}, now.Add(d)
	l.settle(now)
}

// settle restores what must hold after every change: waiters imply a timer at the expiry, nothing implies no lock.
func (l *lock) settle(now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	switch {
	case l.queue.len() > 0:
		l.timer = time.AfterFunc(l.expires.Sub(now), l.expire)
	case !l.held(now):
		delete(l.store.locks, l.name)
	}
}

// expire hands on the lock of a lease that ran out while somebody waits.
func (l *lock) expire() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	now := time.Now()
	switch {
	case l.queue.len() == 0: // they have all left, and the lock may be forgotten
	case l.held(now):
		l.settle(now) // renewed or handed on meanwhile
	default:
		l.free(now)
	}
}

// enqueue adds a waiter at the end.
func (l *lock) enqueue(w *waiter, now time.Time) {
	l.queue.push(w)
	l.settle(now)
}

// withdraw removes a waiter that gave up; if it was granted the lock in the same moment, the lock goes on to the next.
func (l *lock) withdraw(id string, now time.Time) {
	if l.queue.remove(id) {
		l.settle(now)
	} else if l.owner.id == id {
		l.free(now)
	}
}

func (l *lock) busy(now time.Time) *lockrt.BusyError {
	return &lockrt.BusyError{Key: l.name.key, Holder: l.node(), Remaining: l.expires.Sub(now)}
}

func (l *lock) node() string {
	if l.owner.session == nil {
		return ""
	}
	return l.owner.session.cfg.Node
}

func (l *lock) info(now time.Time) lockrt.LockInfo {
	info := lockrt.LockInfo{
		Key: l.name.key, Node: l.node(), ID: l.owner.id, Fence: lockrt.FenceOf(l.owner.epoch),
		Since: l.owner.since, Remaining: l.expires.Sub(now),
	}
	for _, w := range l.queue.first(maxWaitersListed) {
		info.Waiters = append(info.Waiters, lockrt.Waiter{Node: w.session.cfg.Node, ID: w.req.ID})
	}
	return info
}

const maxWaitersListed = 100
