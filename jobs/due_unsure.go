package jobs

import (
	"context"
)

// resolve finds out about claims of which the answer was lost. To repeat them would be wrong: meanwhile the tick may be
// too late for its policy. A claim that reaches the store after this is found by reconcile.
func (l *loop) resolve(ctx context.Context, due []*entry) (open []*entry) {
	var unsure []*entry
	for _, e := range due {
		if e.unsure != nil {
			unsure = append(unsure, e)
		} else {
			open = append(open, e)
		}
	}
	for len(unsure) > 0 && ctx.Err() == nil {
		batch := unsure[:min(len(unsure), claimBatch)]
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		view, err := l.s.cfg.Store.Look(callCtx, names(batch))
		cancel()
		if ctx.Err() != nil {
			return open
		}
		if l.s.heard(err); err != nil { // it may be the part of the store with these jobs alone that is away
			for _, e := range unsure {
				e.backoff = min(max(2*e.backoff, minBackoff), maxBackoff)
				l.wakeAt(e, l.s.clock.now().Add(e.backoff))
			}
			return open
		}
		for i, e := range batch {
			asked := e.unsure
			e.unsure = nil
			l.heardMark(e, view.Jobs[i].Mark)
			l.heardOwed(e, view.Jobs[i].Owed)
			for _, p := range view.Jobs[i].Claims {
				if asked.Pending != nil && p.Run.ID == asked.Pending.Run.ID && !l.s.isLive(p.Run.ID) {
					l.s.won(l.host, e, *asked)
				}
			}
			l.schedule(e)
		}
		unsure = unsure[len(batch):]
	}
	return open
}
