package jobs

import (
	"context"
	"log/slog"
	"time"
)

// noticeLoss is called when the store turns out to know less than it did. All jobs are registered again with the
// cursors that this node knows, what else it knows is put back, and nothing is claimed for a lease: by then all nodes
// have noticed, and the store has the highest cursor that any of them knows.
func (p *part) noticeLoss(sign string) {
	s := p.s
	now := time.Now()
	s.mu.Lock()
	again := now.Before(p.heldUntil)
	if p.forgetful, p.stale = true, true; !again {
		p.heldUntil, p.lossAt = now.Add(s.lease), p.clock.storeTime(now)
	}
	p.rouse()
	s.mu.Unlock()
	if again {
		return
	}
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError,
		"job store has lost data; jobs are registered again with what this node knows, and no ticks are claimed until "+
			"then",
		slog.String("sign", sign), slog.Duration("for", s.lease))
}

// remind registers a job again that the store turns out not to know although this node has it there. It does nothing
// for others.
func (s *Scheduler) remind(ctx context.Context, job string) error {
	e, _, done := s.here(job)
	defer done()
	if e == nil || !s.isRegistered(e) {
		return nil
	}
	e.part.noticeLoss("it does not know job " + job + ", which this node has")
	view, err := s.cfg.Store.Register(ctx, e.part.registration([]*entry{e}))
	if err != nil {
		return err
	}
	return view.Jobs[0].Err
}

// isRegistered reports whether the store has told the cursor of a job.
func (s *Scheduler) isRegistered(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !e.cursor.IsZero()
}

// onHold returns until when nothing is to be claimed, by the local clock.
func (p *part) onHold() time.Time {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.heldUntil
}

// lostSince reports whether the store has lost data since a moment on its clock.
func (p *part) lostSince(t time.Time) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return !p.lossAt.IsZero() && !p.lossAt.Before(t)
}

// restore puts back what this node knows. It is tried again at the next heartbeat if the store does not answer.
func (p *part) restore(h *host) {
	m, forgetful := p.known()
	if !forgetful {
		return
	}
	ctx, cancel := context.WithTimeout(h.records, storeTimeout)
	defer cancel()
	err := p.s.cfg.Store.Restore(ctx, m)
	if p.heard(recording, err); err == nil {
		p.s.mu.Lock()
		p.forgetful = false
		p.s.mu.Unlock()
		p.recoverer.reconcile(h)
	}
}

// known is what this node knows of the part, if it is to be put back.
func (p *part) known() (m Memory, forgetful bool) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.forgetful {
		return Memory{}, false
	}
	m = s.memory.of(p.n, p == s.oneOffPart())
	m.Lease = s.lease
	m.InFlight = s.live.unrecorded(p.n)
	return m, true
}

// restoreRun puts one run back, that the store turned out not to know, if that is because it has lost data. It waits
// for a heartbeat, which tells.
func (x *attempt) restoreRun(ctx context.Context, r *Run) bool {
	x.e.part.awaitHeartbeat(ctx)
	if !x.e.part.lostSince(r.Claimed) {
		return false
	}
	p := *x.p
	p.Owner = x.s.session
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return x.s.cfg.Store.Restore(ctx, Memory{InFlight: []InFlight{p}, Lease: x.s.lease}) == nil
}

// awaitHeartbeat waits until a heartbeat that was begun after this call has been answered, for two heartbeats and a
// call's time at most.
func (p *part) awaitHeartbeat(ctx context.Context) {
	p.s.mu.Lock()
	answered := p.answered
	p.s.mu.Unlock()
	timer := time.NewTimer(2*p.s.cfg.Heartbeat + storeTimeout)
	defer timer.Stop()
	for range 2 { // the first may have been under way
		select {
		case <-answered:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
		p.s.mu.Lock()
		answered = p.answered
		p.s.mu.Unlock()
	}
}

// noteHeartbeat tells those who wait for a heartbeat.
func (p *part) noteHeartbeat() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.answers++
	p.rouse()
	close(p.answered)
	p.answered = make(chan struct{})
}
