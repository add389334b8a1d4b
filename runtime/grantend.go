package lockrt

import (
	"errors"
	"slices"
	"time"
)

// This file is how a grant and the leases under it end.

var errDeadline = errors.New("its deadline passed without a renewal")

// lose ends the grant as lost, unless it has ended already. The next caller in the queue has to ask the store.
func (g *grant) lose(reason error) { g.loseTurn(nil, reason) }

// loseTurn is lose if it is still the turn of the given lease; nil stands for any.
func (g *grant) loseTurn(of *Lease, reason error) {
	defer g.locker.tells.begin()()
	over, ended := g.endTurn(of, &lostError{key: g.key, reason: reason})
	if ended {
		g.locker.noteLost(g, reason)
		g.locker.telemetry.ended(over)
		g.locker.reportLost(g, g.leases(), reason)
	}
}

// loseEach ends grants that the store does not know any more: all their leases, before the program hears of the first.
func loseEach(lost []*grant) {
	if len(lost) == 0 {
		return
	}
	defer lost[0].locker.tells.begin()()
	var over []*Lease
	lost = slices.DeleteFunc(lost, func(g *grant) bool {
		of, ended := g.endTurn(nil, &lostError{key: g.key, reason: errNotMine})
		over = append(over, of...)
		if ended {
			g.locker.noteLost(g, errNotMine)
		}
		return !ended
	})
	if len(lost) > 0 {
		lost[0].locker.telemetry.ended(over)
	}
	for _, g := range lost {
		g.locker.reportLost(g, g.leases(), errNotMine)
	}
}

// end reports whether this call ended the grant. Of a given lease it ends nothing but its turn. On a grant that is over
// when it returns, the contexts of all leases have ended that ever were under it, be it by others: only then may somebody
// else get the lock.
func (g *grant) end(of *Lease, why error) bool {
	over, ended := g.endTurn(of, why)
	g.locker.telemetry.ended(over)
	return ended
}

// endTurn is end for who ends several grants: telemetry, which is the program's, is to hear of their leases when all
// have ended.
func (g *grant) endTurn(of *Lease, why error) (over []*Lease, ended bool) {
	g.mu.Lock()
	if g.over != nil {
		g.mu.Unlock()
		g.ending.Wait()
		return nil, false
	}
	if of != nil && g.owner != of {
		g.mu.Unlock()
		return nil, false
	}
	g.over = why
	g.ending.Add(1)
	owner, sharers := g.owner, g.sharers
	g.sharers = nil
	for _, sharer := range sharers {
		sharer.leaveMinHold()
	}
	var members []*Lease
	if g.batch != nil {
		g.batch.closed.Store(true)
		members = g.batch.members // nobody changes them any more
	}
	g.mu.Unlock()
	over = append(g.finish(owner, sharers, why), g.finish(nil, members, why)...)
	g.ending.Done()
	g.hasEnded()
	return over, true
}

// hasEnded is called by who has set over, when that has ended its leases.
func (g *grant) hasEnded() {
	g.ending.Wait()
	g.locker.disarm(g)
}

// finish ends the leases of one turn; owner is nil between two turns. It returns those of which telemetry has to hear, as
// soon as nobody waits for the end of the others: what hears of them is the program's.
func (g *grant) finish(owner *Lease, sharers []*Lease, why error) (over []*Lease) {
	end := func(lease *Lease) {
		if lease.finish(why) && g.locker.telemetry != nil {
			over = append(over, lease)
		}
	}
	if owner != nil {
		end(owner)
	}
	for _, lease := range sharers {
		end(lease)
	}
	return over
}

// leave ends one of several leases that share the grant. Its MinHold is kept by the lease that it shares.
func (g *grant) leave(lease *Lease, why error) {
	g.mu.Lock()
	lease.leaveMinHold()
	if i := slices.Index(g.sharers, lease); i >= 0 {
		g.sharers = slices.Delete(g.sharers, i, i+1)
	}
	g.without([]*Lease{lease})
	lives := g.over == nil
	if lives {
		g.ending.Add(1)
	}
	g.mu.Unlock()
	over := g.finish(lease, nil, why)
	if lives {
		g.ending.Done()
	}
	g.locker.telemetry.ended(over)
}

// err is nil while the grant lives. It looks at the clock too: between the deadline and the run of its timer the grant
// is over already.
func (g *grant) err() error {
	g.mu.Lock()
	over, passed := g.over, !time.Now().Before(g.deadline)
	g.mu.Unlock()
	if over != nil || !passed {
		return over
	}
	g.lose(errDeadline)
	return g.ended()
}

// ended is nil while the grant has not been ended, whatever the clock says.
func (g *grant) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over
}
