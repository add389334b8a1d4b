package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// leaseBeats is how many beats of a node may fail before its runs are taken over. It does not limit how long they
	// take.
	leaseBeats = 5
	// horizonBeats is how many beats ahead a beat asks for one-off jobs: some may fail.
	horizonBeats = 3
	registerTime = time.Hour // how often jobs are registered again, lest the store forget them
)

// keepSession gives signs of life, and acts on what the store answers, until the runs of this node are done. Then it
// ends the session: what this node may have left behind is free for others at once.
func (s *Scheduler) keepSession(h *host) {
	var keepers sync.WaitGroup
	for _, p := range s.parts {
		keepers.Go(func() { p.keep(h) })
	}
	keepers.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.records), storeTimeout)
	defer cancel()
	if err := s.cfg.Store.Leave(ctx, s.session); err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "job session not ended in the store, it ends by itself",
			slog.Duration("within", s.lease), slog.Any("error", err))
	}
}

// keep is keepSession in one part of the store.
func (p *part) keep(h *host) {
	s := p.s
	every, registered := s.cfg.Heartbeat, s.cfg.Now()
	var steady time.Time // since when all beats have succeeded; zero: the last one failed
	strange := 0         // beats in a row with runs in flight that this node does not know of
	for {
		pulse, ok := p.beat(h)
		if ok {
			p.restore(h)
			if pulse.Lost {
				steady = time.Time{}
			}
			if steady.IsZero() {
				steady = s.cfg.Now()
			}
			// When the store was away all sessions seem dead at first: each gets the time to give a sign of life.
			if s.cfg.Now().Sub(steady) < s.lease {
				pulse.Orphans = onlyNobodys(pulse.Orphans)
			}
			strange = p.listen(h, pulse, strange)
		} else {
			steady = time.Time{}
		}
		if ok && s.cfg.Now().Sub(registered) > registerTime {
			registered = s.cfg.Now()
			s.keeping.Go(func() { // beside the beats, which must go on
				p.registerAgain(h.records)
				if p == s.oncePart() {
					s.tidy(h.records)
				}
			})
		}
		// Nodes that started together need not beat together.
		if !pause(h.records, every-rand.N(every/8)) {
			return
		}
	}
}

// onlyNobodys are the runs that wait for any node.
func onlyNobodys(orphans []Pending) []Pending {
	return slices.DeleteFunc(orphans, func(p Pending) bool { return p.Owner != Nobody })
}

// beat reports false if the part did not answer.
func (p *part) beat(h *host) (Pulse, bool) {
	s := p.s
	ctx, cancel := context.WithTimeout(h.records, storeTimeout)
	defer cancel()
	s.mu.Lock()
	node := Node{
		Name: s.cfg.Node, Session: s.session, Started: p.clock.storeTime(s.began), ClockOffset: p.clock.offset(),
		Jobs: len(s.entries), Running: len(s.live), Draining: h.waiting.Err() != nil,
		Program: s.cfg.Program, Version: s.cfg.Version,
	}
	s.mu.Unlock()
	sent, accepted := s.cfg.Now(), p.acceptedPauses()
	pulse, err := s.cfg.Store.Beat(ctx, Beat{
		Part: p.n, Session: s.session, Node: node, Lease: s.lease, Horizon: s.horizon(), Stamp: p.stamp,
	})
	if h.records.Err() != nil {
		return Pulse{}, false // what it said says nothing about the store
	}
	if p.heard(err); err != nil {
		return Pulse{}, false
	}
	p.clock.observe(pulse.Now, sent)
	s.compareClocks(ctx)
	p.stamp = pulse.Stamp
	p.rememberPulse(pulse)
	lost := p.checkPauses(accepted, pulse)
	switch {
	case pulse.Lost:
		p.noticeLoss("it does not know of this node's last sign of life")
	case lost != "":
		p.noticeLoss("it does not know that this node has paused or resumed job " + lost)
	}
	p.noteBeat()
	return pulse, true
}

// listen acts on a pulse. It returns how many pulses in a row have told of runs that this node does not know of.
func (p *part) listen(h *host, pulse Pulse, strange int) int {
	s := p.s
	for _, n := range pulse.Notices {
		s.obey(n)
	}
	s.mu.Lock()
	first := len(p.peers) == 0
	for _, peer := range p.peers {
		if _, still := slices.BinarySearch(pulse.Peers, peer); !still {
			p.departed = true
		}
	}
	p.peers = pulse.Peers
	known := p.live
	if first || p.departed {
		p.rouse()
	}
	s.mu.Unlock()
	if h.waiting.Err() != nil {
		return 0
	}
	s.expect(pulse.Due)
	p.recover(h, pulse.Orphans)
	if pulse.Held <= known {
		return 0
	}
	// Runs that are just being claimed or recorded look strange for a moment.
	if strange++; strange >= 3 {
		p.reconcile(h)
		return 0
	}
	return strange
}

func (s *Scheduler) horizon() time.Duration { return horizonBeats * s.cfg.Heartbeat }

// expect hands one-off jobs that are soon due to the loop.
func (s *Scheduler) expect(due []Once) {
	limit := s.oncePart().clock.now().Add(s.horizon())
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.oncePart()
	before := len(p.soon)
	for _, o := range due {
		if s.entries[handlerPrefix+o.Handler] != nil && !o.At.After(limit) && s.state == started {
			p.soon = append(p.soon, o)
		}
	}
	if len(p.soon) > before {
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
	lost := s.cfg.Now().Before(p.heldUntil)
	for i, e := range entries {
		o := Offer{Definition: s.definition(e), Version: e.version, Mark: e.mark, Owed: e.owed, OwedKnown: e.owedOK}
		if at, ok := s.memory.resumedAt(e.job.Name); lost && ok && at.After(e.mark) && at.Before(p.clock.now()) {
			o.Mark, o.Owed, o.OwedKnown = at, nil, false // what was due during the pause is not owed
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
		if p.heard(err); err != nil {
			return // there are many more times until a year is over
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
	sent := p.s.cfg.Now()
	view, err := p.s.cfg.Store.Look(callCtx, names(entries[:1]))
	if ctx.Err() != nil {
		return // what it said says nothing about the store
	}
	if p.heard(err); err == nil {
		p.clock.observe(view.Now, sent)
	}
}

// isMoving reports whether a cluster has put off a call because it moves what the call is about from one server to
// another.
func isMoving(err error) bool { return err != nil && strings.Contains(err.Error(), "TRYAGAIN") }
