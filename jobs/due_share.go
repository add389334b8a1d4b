package jobs

import (
	"context"
	"slices"
	"time"
)

const (
	// burst is the number of jobs due together from which on the nodes share them out.
	burst = 64
	// deferral is how long a node then leaves the others' shares to them, from when it has claimed its own. It only
	// saves work: who claims a tick is decided by the store, and what a node does not do of its share is late by this,
	// not missed.
	deferral = 40 * time.Millisecond
	// maxDeferral is how long it waits between two looks at shares of which a part is done each time.
	maxDeferral = 8 * deferral
)

// share returns the part of a burst that falls to this node, and defers the rest.
func (l *loop) share(due []*entry, peers []string, now time.Time) []*entry {
	me := slices.Index(peers, l.s.session)
	if me < 0 || len(peers) == 1 {
		return due
	}
	var mine []*entry
	for _, e := range due {
		if e.hash%uint64(len(peers)) == uint64(me) {
			mine = append(mine, e)
		} else {
			l.deferred = append(l.deferred, e)
		}
	}
	l.deferUntil(now, deferral)
	return mine
}

// claimDeferred looks after the shares of the others: mostly they have done them, and it is enough to hear so. Those who
// have done a part of theirs since the last look are at it, and are left what is open of it for some longer: nodes that
// claim the same ticks at the same time wait for each other.
func (l *loop) claimDeferred(ctx context.Context) {
	now := l.part.clock.now()
	if len(l.deferred) > 0 && l.claiming {
		l.deferUntil(now, deferral) // the ticks of this node go first
	}
	if len(l.deferred) == 0 || now.Before(l.later) {
		return
	}
	left, peers := l.deferred, uint64(max(len(l.part.alive()), 1))
	l.deferred = nil
	for len(left) > 0 {
		batch := left[:min(len(left), 4*claimBatch)]
		left = left[len(batch):]
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		cursors, err := l.s.cfg.Store.Cursors(callCtx, names(batch))
		cancel()
		if err != nil { // the claims will tell what is wrong
			l.claim(ctx, batch)
			continue
		}
		l.claim(ctx, l.abandoned(batch, cursors, peers))
	}
	l.deferUntil(l.part.clock.now(), min(2*l.patience, maxDeferral))
}

// abandoned takes in the cursors of deferred entries, defers those again whose nodes get on, and returns the others.
func (l *loop) abandoned(batch []*entry, cursors []time.Time, peers uint64) (open []*entry) {
	getsOn := make(map[uint64]bool)
	for i, e := range batch {
		if cursors[i].Equal(e.cursor) {
			open = append(open, e)
			continue
		}
		getsOn[e.hash%peers] = true
		if l.heardCursor(e, cursors[i]) {
			e.owedOK = false // it is not told along with the cursors
		}
		l.schedule(e)
	}
	return slices.DeleteFunc(open, func(e *entry) bool {
		if getsOn[e.hash%peers] {
			l.deferred = append(l.deferred, e)
		}
		return getsOn[e.hash%peers]
	})
}

func (l *loop) deferUntil(now time.Time, patience time.Duration) {
	l.patience, l.later = patience, now.Add(patience)
}
