package jobs

import (
	"context"
	"slices"
	"time"
)

// probed is what became of a claim of which the answer was lost.
type probed struct {
	e    *entry
	view JobView
	err  error
}

// resolve sets those aside that have a claim of which the answer was lost, and finds out about them beside the loop: it
// may be that only the part of the store with these jobs is away, and others are due. To repeat the claims would be
// wrong: meanwhile the tick may be too late for its policy. A claim that reaches the store after this is found by
// reconcile.
func (l *loop) resolve(ctx context.Context, due []*entry) (open []*entry) {
	var unsure []*entry
	for _, e := range due {
		switch {
		case e.unsure == nil:
			open = append(open, e)
		case !e.probing:
			e.probing = true
			unsure = append(unsure, e)
		}
	}
	if len(unsure) > 0 && !l.s.live.spawn(func() { l.part.probe(ctx, unsure) }) {
		for _, e := range unsure {
			e.probing = false // the drain has begun
		}
	}
	return open
}

func (p *part) probe(ctx context.Context, unsure []*entry) {
	s := p.s
	for batch := range slices.Chunk(unsure, claimBatch) {
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		view, err := s.cfg.Store.Look(callCtx, names(batch))
		cancel()
		if ctx.Err() == nil { // else what it said says nothing about the store
			p.heard(reading, err)
		}
		s.mu.Lock()
		for i, e := range batch {
			found := probed{e: e, err: err}
			if err == nil {
				found.view = view.Jobs[i]
			}
			p.probed = append(p.probed, found)
		}
		p.rouse()
		s.mu.Unlock()
	}
}

// settle takes in what has become of claims of which the answer was lost.
func (l *loop) settle() {
	l.s.mu.Lock()
	all := l.part.probed
	l.part.probed = nil
	l.s.mu.Unlock()
	for _, p := range all {
		e := p.e
		e.probing = false
		if p.err != nil {
			// In time after an outage: others would take the run for one that this node has lost sight of.
			e.backoff = min(max(2*e.backoff, minBackoff), maxBackoff, l.s.cfg.Heartbeat)
			e.owing = l.part.clock.now()
			l.wakeAt(e, l.part.clock.now().Add(e.backoff))
			continue
		}
		asked := e.unsure
		moved := asked != nil && p.view.Cursor.After(asked.Prev)
		e.unsure, e.rests = nil, l.part.clock.now().Add(e.backoff)
		if moved {
			e.backoff, e.rests = 0, time.Time{}
		}
		known := p.view.Spec.Epoch == e.epoch
		if known || p.view.Cursor.IsZero() {
			l.heardState(e, p.view.Cursor, p.view.Owed)
		}
		for _, flight := range p.view.InFlight {
			if asked != nil && asked.InFlight != nil && flight.Run.ID == asked.InFlight.Run.ID &&
				!l.s.live.has(flight.Run.ID) {
				asked.InFlight.delay()
				l.won(e, *asked)
			}
		}
		if moved {
			l.s.outage.wasUnlocked(l.part.n, claiming)
		}
		if known {
			l.schedule(e)
		} else {
			l.doubt(e)
		}
	}
}
