package jobs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// keepSession gives signs of life, and acts on what the store answers, until the runs of this node are done. Then it
// ends the session: what this node may have left behind is free for others at once.
func (s *Scheduler) keepSession(h *host) {
	var heartbeats sync.WaitGroup
	for _, p := range s.parts {
		b := &heartbeater{s: s, part: p, host: h}
		heartbeats.Go(b.run)
	}
	heartbeats.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.records), storeTimeout)
	defer cancel()
	if err := s.cfg.Store.Leave(ctx, s.session); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job session not ended in the store, it ends by itself",
			slog.Duration("within", s.lease), slog.Any("error", err))
	}
}

// horizon is how far ahead of their time a node hears of one-off jobs.
func (p *part) horizon() time.Duration { return horizonHeartbeats * p.s.cfg.Heartbeat }

// expect hands one-off jobs that are soon due to the loop. The part is the one with the one-off jobs.
func (p *part) expect(due []OneOff) {
	s, limit := p.s, p.clock.now().Add(p.horizon())
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(p.soon)
	for _, o := range due {
		if s.entries[HandlerPrefix+o.Handler] != nil && !o.At.After(limit) && s.state == started {
			p.soon = append(p.soon, o)
		}
	}
	if len(p.soon) > before {
		p.rouse()
	}
}

// meet takes in which sessions are alive. Those that have gone since may have left jobs to this node.
func (p *part) meet(peers []string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	first := len(p.peers) == 0
	for _, peer := range p.peers {
		if _, still := slices.BinarySearch(peers, peer); !still {
			p.departed = true
		}
	}
	p.peers = peers
	if first || p.departed {
		p.rouse()
	}
}

// registration is the offer of entries to the part.
func (p *part) registration(entries []*entry) Registration {
	s := p.s
	r := Registration{Session: s.session, Grace: s.lease + storeTimeout, Offers: make([]Offer, len(entries))}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Peers = p.peers
	lost := time.Now().Before(p.heldUntil)
	for i, e := range entries {
		o := Offer{Definition: s.definition(e), Version: e.version, Cursor: e.cursor, Owed: e.owed, OwedKnown: e.owedOK}
		if at, ok := s.memory.resumedAt(e.job.Name); lost && ok && at.After(e.cursor) && at.Before(p.clock.now()) {
			o.Cursor, o.Owed, o.OwedKnown = at, nil, false // what was due during the pause is not owed
		}
		r.Offers[i] = o
	}
	return r
}

// registerAgain tells the store that the jobs are still in use.
func (p *part) registerAgain(ctx context.Context) {
	p.s.mu.Lock()
	entries := p.entries()
	p.s.mu.Unlock()
	for chunk := range slices.Chunk(entries, claimBatch) {
		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		view, err := p.s.cfg.Store.Register(callCtx, p.registration(chunk))
		cancel()
		if p.heardOffers(view, err); err != nil {
			return // the store keeps jobs for a year, and the next try is within the hour
		}
		if slices.ContainsFunc(view.Jobs, func(job JobView) bool { return job.Refused != "" }) {
			p.offerAgain() // the loop is to learn of it
		}
	}
}

// offerAgain has the loop register all jobs of the part.
func (p *part) offerAgain() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.stale = true
	p.rouse()
}

// syncClock asks the store for the time, by looking at a job of the part.
func (p *part) syncClock(ctx context.Context) {
	p.s.mu.Lock()
	entries := p.entries()
	p.s.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	sent := p.clock.local()
	view, err := p.s.cfg.Store.Look(callCtx, names(entries[:1]))
	if ctx.Err() != nil {
		return // what it said says nothing about the store
	}
	if p.heard(reading, err); err == nil {
		p.clock.observe(view.Now, sent)
	}
}
