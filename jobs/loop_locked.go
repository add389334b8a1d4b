package jobs

import (
	"slices"
	"time"
)

// lockedRetry is how soon to ask again for a job that a transaction had locked in the store, at the latest.
const lockedRetry = time.Second

// withhold keeps those of a batch of offers for later that were locked in the store: the other jobs must not wait for them.
func (l *loop) withhold(batch []*entry, view View) {
	for i, e := range batch {
		if view.Jobs[i].Err != nil {
			l.locked, l.offerAt = append(l.locked, e), l.part.clock.now().Add(lockedRetry)
		}
	}
}

// offerLocked has them offered again when it is time.
func (l *loop) offerLocked() {
	if len(l.locked) > 0 && !l.part.clock.now().Before(l.offerAt) {
		l.unknown, l.locked = append(l.unknown, l.locked...), nil
	}
}

// heardOffers notes whether the part has registered jobs. That all of a batch are locked counts only if no others are
// registered: they run.
func (p *part) heardOffers(view View, err error) {
	if err != nil || len(view.Jobs) == 0 || slices.ContainsFunc(view.Jobs, func(job JobView) bool { return job.Err == nil }) {
		p.heard(offering, err)
		return
	}
	p.s.mu.Lock()
	others := slices.ContainsFunc(p.entries(), func(e *entry) bool { return e.version > 0 })
	p.s.mu.Unlock()
	if !others {
		p.heard(offering, view.Jobs[0].Err)
	}
}
