package memstore

import (
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// holder is one lease on a lock, or a place that MinHold keeps: then it has no id and no session.
type holder struct {
	id       string
	session  *session
	epoch    uint64
	since    time.Time
	expires  time.Time
	permits  int16 // how many may hold the lock with it; 0 without permits
	slot     int16
	mode     lockrt.Mode
	broken   bool // it ends at its session's word or its expiry
	recalled bool // its session knows that somebody waits
}

func (h *holder) live(now time.Time) bool { return now.Before(h.expires) }

func byEnd(a, b holder) int { return a.expires.Compare(b.expires) }

// grant is what its session is told, once or again.
func (h *holder) grant() lockrt.Grant {
	return lockrt.Grant{Epoch: h.epoch, Slot: int(h.slot), Start: h.since, TTL: h.expires.Sub(h.since)}
}

func (h *holder) node() string {
	if h.session == nil {
		return ""
	}
	return h.session.cfg.Node
}

// maxListed is how many holders and waiters of a lock a list has.
const maxListed = 100

// busy says who holds the lock. It requires that no holder is over.
func (l *lock) busy(now time.Time) *lockrt.BusyError {
	busy := &lockrt.BusyError{Key: l.name.key}
	if len(l.holders) == 0 {
		return busy
	}
	busy.Remaining = l.nextEnd().Sub(now)
	if l.holders[0].shared() {
		busy.Holders = len(l.holders)
	}
	for i := range l.holders { // the first that is more than kept
		if busy.Holder = l.holders[i].node(); busy.Holder != "" {
			break
		}
	}
	return busy
}

// shared reports whether others may hold the lock beside it.
func (h *holder) shared() bool { return h.permits > 0 || h.mode == lockrt.Read }

// info describes a lock that is held, with at most so many of its holders.
func (l *lock) info(now time.Time, most int) lockrt.LockInfo {
	first := &l.holders[0]
	info := lockrt.LockInfo{
		Key: l.name.key, Node: first.node(), ID: first.id, Fence: lockrt.FenceOf(first.epoch), Since: first.since,
		Remaining: l.nextEnd().Sub(now), Mode: first.mode, Limit: int(first.permits),
	}
	for i := range l.holders[:min(len(l.holders), most)] {
		h := &l.holders[i]
		if !h.shared() {
			break // that is the one above
		}
		held := lockrt.Holder{
			Node: h.node(), ID: h.id, Fence: lockrt.FenceOf(h.epoch), Slot: -1, Since: h.since,
			Remaining: h.expires.Sub(now),
		}
		if h.permits > 0 {
			held.Slot = int(h.slot)
		}
		info.Holders = append(info.Holders, held)
	}
	for _, w := range l.queue.first(maxListed) {
		info.Waiters = append(info.Waiters, lockrt.Waiter{
			Node: w.session.cfg.Node, ID: w.req.ID, Mode: w.req.Mode, Permits: w.req.Permits,
		})
	}
	return info
}
