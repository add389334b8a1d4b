package jobs

import (
	"context"
	"math/rand/v2"
	"time"
)

// look asks the store for the jobs that are new to this node or of which an answer was lost, and for those whose
// claims by other nodes may be over.
func (l *loop) look(ctx context.Context) {
	now := l.s.clock.now()
	batch := l.unknown
	isNew := make(map[*entry]bool, len(batch))
	for _, e := range l.unknown {
		isNew[e] = true
	}
	for _, e := range l.all {
		if !isNew[e] && !e.check.After(now) {
			batch = append(batch, e)
		}
	}
	l.unknown = nil
	for len(batch) > 0 && ctx.Err() == nil {
		n := min(len(batch), claimBatch)
		if !l.lookAt(ctx, batch[:n], isNew) {
			break
		}
		batch = batch[n:]
	}
	for _, e := range batch {
		if isNew[e] {
			l.unknown = append(l.unknown, e)
		}
	}
}

// lookAt makes one call and reports whether the store answered.
func (l *loop) lookAt(ctx context.Context, entries []*entry, isNew map[*entry]bool) bool {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.job.Name
	}
	callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	sent := l.s.clock.local()
	view, err := l.s.cfg.Store.Look(callCtx, names)
	if ctx.Err() != nil {
		return false // what it said says nothing about the store
	}
	l.answered(err)
	if err != nil {
		return false
	}
	l.s.clock.observe(view.Now, sent)
	for i, e := range entries {
		if isNew[e] {
			l.s.setMark(e, view.Jobs[i].Mark)
		}
		l.examine(e, view.Jobs[i].Claims)
		if isNew[e] {
			delete(l.unsure, e)
			l.schedule(e, e.next(e.mark, l.s.clock.now()).due)
		}
	}
	return true
}

// examine goes through the runs in flight of a job.
func (l *loop) examine(e *entry, claims []Pending) {
	now := l.s.clock.now()
	soonest := idleCheck - rand.N(idleCheck/4) // nodes that started together need not look together
	for _, p := range claims {
		switch {
		case l.unsure[e] != nil && l.unsure[e].Run.ID == p.Run.ID:
			l.s.launch(l.host, e, p) // the claim had been won after all
		case l.s.isLive(p.Run.ID):
		case p.Left <= 0:
			l.s.runs.Go(func() { l.s.takeOver(l.host, e, p) })
			soonest = min(soonest, l.s.lease/3) // in case its lock is not free yet
		default:
			soonest = min(soonest, p.Left)
		}
	}
	e.check = now.Add(max(soonest, 10*time.Millisecond))
}
