package sqlstore

import "slices"

// What becomes of a lock that several may hold is decided here. As in decide.go nothing asks or waits.

// shared reports whether the row is that of readers or permits. Their leases may be over.
func (r *row) shared() bool { return r.owner == sharedOwner }

// taken reports whether anybody holds the lock at a moment, alone or together with others, or MinHold keeps it.
func (r *row) taken(now int64) bool {
	if !r.shared() {
		return r.held(now)
	}
	return slices.ContainsFunc(r.holders, func(h holder) bool { return h.live(now) })
}

// holder returns the index of a lease among those who hold the lock together at a moment, -1 if it is not there.
func (r *row) holder(id string, now int64) int {
	return slices.IndexFunc(r.holders, func(h holder) bool { return h.id == id && id != "" && h.live(now) })
}

// ends are when the first and the last lease of those end who share the lock at a moment.
func (r *row) ends(now int64) (first, last int64) {
	for _, h := range r.holders {
		if !h.live(now) {
			continue
		}
		if last = max(last, h.until); first == 0 || h.until < first {
			first = h.until
		}
	}
	return first, last
}

// roomAt is when the lock may have room if nobody renews: of several permits when the first ends, else when all have.
func (r *row) roomAt(now int64) int64 {
	if !r.shared() {
		return r.until
	}
	first, last := r.ends(now)
	if len(r.holders) > 0 && r.holders[0].kind.permits > 0 {
		return first
	}
	return last
}

// together is how many hold a lock together at a moment, with those whose slot MinHold keeps.
func (r *row) together(now int64) (n int) {
	for _, h := range r.holders {
		if h.live(now) {
			n++
		}
	}
	return n
}

// holderNode is the process that holds the lock at a moment, one of them, "" if there is none.
func (r *row) holderNode(now int64) string {
	if at := slices.IndexFunc(r.holders, func(h holder) bool { return h.live(now) && h.id != "" }); at >= 0 {
		return r.holders[at].node
	}
	return r.node
}

// permitOver reports whether the lease of one of several permits has run out, so that another may have room.
func (r *row) permitOver(now int64) bool {
	return r.shared() && slices.ContainsFunc(r.holders, func(h holder) bool { return h.kind.permits > 0 && !h.live(now) })
}

// brokenWhy is why an operator ended a lease that holds the lock.
func (r *row) brokenWhy(id string, now int64) string {
	if at := r.holder(id, now); r.shared() && at >= 0 {
		return r.holders[at].broken
	}
	return r.broken
}

// fits reports whether a lease of a kind can be granted. The row has no holders whose leases are over.
func (r *row) fits(k kind, now int64) bool {
	if !r.shared() {
		return !r.held(now)
	}
	if len(r.holders) == 0 {
		return true
	}
	beside := r.holders[0].kind
	switch {
	case k.permits > 0:
		return beside.permits > 0 && len(r.holders) < k.permits
	case k.read:
		return beside.read && len(r.holders) < maxHolders
	}
	return false
}

// grant gives the lock to a waiter that fits.
func (r row) grant(to place, now int64) row {
	if to.kind.exclusive() {
		return r.give(to, r.queue, now)
	}
	joins := r.shared() && len(r.holders) > 0
	if !joins {
		r.owner, r.session, r.node, r.broken = sharedOwner, "", "", ""
		r.since, r.until, r.holders = now, 0, nil
	}
	if !joins || !to.kind.read { // readers together share an epoch: nobody has written since
		r.epoch = max(r.epoch+1, now)
	}
	r.turns++
	h := holder{
		id: to.id, until: now + to.ttl, kind: to.kind, epoch: r.epoch, since: now, session: to.session, node: to.node,
	}
	if to.kind.permits > 0 {
		h.slot = r.freeSlot()
	}
	r.holders = append(slices.Clone(r.holders), h)
	r.until = max(r.until, h.until)
	return r
}

// freeSlot is the lowest that no holder has.
func (r *row) freeSlot() int {
	slot := 0
	for slices.ContainsFunc(r.holders, func(h holder) bool { return h.slot == slot }) {
		slot++
	}
	return slot
}

// clear takes the lock away from everybody.
func (r row) clear() row {
	r.owner, r.session, r.node, r.broken, r.until, r.holders = "", "", "", "", 0, nil
	return r
}

// refresh lets those go whose leases are over, and grants the lock to the first in the queue whose process lives, and
// to those behind it, as long as they fit. changed says that there was anything to do.
func (r row) refresh(now int64, lives liveness) (next row, changed bool) {
	next = r
	switch {
	case !r.shared() && r.held(now):
		return r, false
	case !r.taken(now):
		next, changed = r.clear(), r.owner != ""
	default:
		next.holders = slices.DeleteFunc(slices.Clone(r.holders), func(h holder) bool { return !h.live(now) })
		changed = len(next.holders) < len(r.holders)
		_, next.until = next.ends(now)
	}
	for next.shared() || !next.held(now) {
		first, rest := next.firstLive(lives)
		changed = changed || len(next.queue) > len(rest)+1 || first == nil && len(next.queue) > 0
		if first == nil {
			next.queue = nil
			break
		}
		if !next.fits(first.kind, now) {
			next.queue = next.queue[len(next.queue)-len(rest)-1:] // without the dead
			break
		}
		next.queue = rest
		next, changed = next.grant(*first, now), true
	}
	return next, changed
}

// withoutPlace takes somebody out of the queue.
func (r row) withoutPlace(at int) row {
	r.queue = slices.Delete(slices.Clone(r.queue), at, at+1)
	return r
}

// drop ends the lease of one of those who hold the lock together, at once or, with keep, after that time.
func (r row) drop(at int, keep, now int64, lives liveness) row {
	r.holders = slices.Clone(r.holders)
	if keep > 0 {
		h := &r.holders[at]
		h.id, h.session, h.node, h.broken, h.until = "", "", "", "", now+keep
	} else {
		r.holders = slices.Delete(r.holders, at, at+1)
	}
	next, _ := r.refresh(now, lives)
	return next
}

// breakingShare is breaking for one of those who hold the lock together.
func (r row) breakingShare(
	id string, epoch int64, force bool, reason string, now int64, lives liveness,
) (w write, next row, ok bool) {
	at := slices.IndexFunc(r.holders, func(h holder) bool { return h.id == id && h.epoch == epoch && h.live(now) })
	switch {
	case at < 0:
		return nothing, r, false
	case id == "" || force:
		return change, r.drop(at, 0, now, lives), true
	case r.holders[at].broken != "":
		return nothing, r, true
	}
	r.holders = slices.Clone(r.holders)
	r.holders[at].broken = reason
	return change, r, true
}

// downgrade makes a writer's lease a reader's, beside which the readers at the head of the queue are admitted. For one
// that is a reader's already it changes nothing. ok is false if the lease does not hold the lock.
func (r row) downgrade(id string, anew bool, now int64, lives liveness) (next row, done, ok bool) {
	if at := r.holder(id, now); r.shared() && at >= 0 {
		return r, true, r.holders[at].broken == "" && r.holders[at].kind.read
	}
	if !r.owned(id, now) || r.broken != "" {
		return r, false, false
	}
	if anew {
		r.epoch = max(r.epoch+1, now)
	}
	r.holders = []holder{{
		id: id, until: r.until, kind: kind{read: true}, epoch: r.epoch, since: r.since, session: r.session, node: r.node,
	}}
	r.owner, r.session, r.node = sharedOwner, "", ""
	next, _ = r.refresh(now, lives)
	return next, false, true
}

// goesOn reports whether a change leaves the lock with those who share it, or with others whom they do not keep out. If
// it does not, it has to wait for guarded transactions.
func (r *row) goesOn(next row) bool {
	return r.shared() && next.shared() && (next.epoch == r.epoch || len(r.holders) > 0 && r.holders[0].kind.permits > 0)
}
