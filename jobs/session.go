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
	// leaseHeartbeats is how many heartbeats of a node may fail before its runs are taken over. It does not limit how
	// long they take.
	leaseHeartbeats = 5
	// horizonHeartbeats is how many heartbeats ahead a heartbeat asks for one-off jobs: some may fail.
	horizonHeartbeats = 3
	registerTime      = time.Hour // how often jobs are registered again, so that the store does not forget them
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
	every, registered := s.cfg.Heartbeat, time.Now()
	var steady time.Time // since when all heartbeats have succeeded; zero: the last one failed
	strange := 0         // heartbeats in a row with runs in flight that this node does not know of
	for {
		reply, ok := p.heartbeat(h)
		if ok {
			p.restore(h)
			if reply.Lost {
				steady = time.Time{}
			}
			if steady.IsZero() {
				steady = time.Now()
			}
			// When the store was away all sessions seem dead at first: each gets the time to give a sign of life.
			if time.Since(steady) < s.lease {
				reply.Orphans = onlyNobodys(reply.Orphans)
			}
			strange = p.listen(h, reply, strange)
		} else {
			steady = time.Time{}
		}
		if ok && time.Since(registered) > registerTime {
			registered = time.Now()
			s.keeping.Go(func() { // beside the heartbeats, which must go on
				p.registerAgain(h.records)
				if p == s.oneOffPart() {
					s.tidy(h.records)
				}
			})
		}
		// Heartbeats of nodes that started together are spread.
		if !pause(h.records, every-rand.N(every/8)) {
			return
		}
	}
}

// onlyNobodys are the runs that wait for any node.
func onlyNobodys(orphans []InFlight) []InFlight {
	return slices.DeleteFunc(orphans, func(p InFlight) bool { return p.Owner != Nobody })
}

// heartbeat reports false if the part did not answer.
func (p *part) heartbeat(h *host) (HeartbeatReply, bool) {
	s := p.s
	ctx, cancel := context.WithTimeout(h.records, storeTimeout)
	defer cancel()
	offset := p.clock.offset()
	s.mu.Lock()
	node := Node{
		Name: s.cfg.Node, Session: s.session, Started: p.clock.storeTime(s.began), ClockOffset: offset,
		Jobs: len(s.entries), Running: len(s.live), Draining: h.waiting.Err() != nil,
		Program: s.cfg.Program, Version: s.cfg.Version, History: s.cfg.History,
	}
	s.mu.Unlock()
	sent, accepted := p.clock.local(), p.acceptedPauses()
	reply, err := s.cfg.Store.Heartbeat(ctx, Heartbeat{
		Part: p.n, Session: s.session, Node: node, Lease: s.lease, Horizon: s.horizon(), Stamp: p.stamp,
		Waiting: p.believedWaiting(),
	})
	if h.records.Err() != nil {
		return HeartbeatReply{}, false // what it said says nothing about the store
	}
	if p.heard(err); err != nil {
		return HeartbeatReply{}, false
	}
	p.clock.observe(reply.Now, sent)
	s.compareClocks(ctx)
	p.stamp = reply.Stamp
	p.rememberReply(reply)
	lost := p.checkPauses(accepted, reply)
	switch {
	case reply.Lost:
		p.noticeLoss("it does not know of this node's last sign of life")
	case lost != "":
		p.noticeLoss("it does not know that this node has paused or resumed job " + lost)
	}
	p.noteHeartbeat()
	return reply, true
}

// listen acts on a reply. It returns how many replies in a row have told of runs that this node does not know of.
func (p *part) listen(h *host, reply HeartbeatReply, strange int) int {
	s := p.s
	for _, n := range reply.Notices {
		s.obey(n)
	}
	s.mu.Lock()
	first := len(p.peers) == 0
	for _, peer := range p.peers {
		if _, still := slices.BinarySearch(reply.Peers, peer); !still {
			p.departed = true
		}
	}
	p.peers = reply.Peers
	known := p.live
	if first || p.departed {
		p.rouse()
	}
	s.mu.Unlock()
	if h.waiting.Err() != nil {
		return 0
	}
	s.expect(reply.Due)
	p.recover(h, reply.Orphans)
	if reply.Held <= known {
		return 0
	}
	// Runs that are just being claimed or recorded look strange for a moment.
	if strange++; strange >= 3 {
		p.reconcile(h)
		return 0
	}
	return strange
}

func (s *Scheduler) horizon() time.Duration { return horizonHeartbeats * s.cfg.Heartbeat }

// expect hands one-off jobs that are soon due to the loop.
func (s *Scheduler) expect(due []OneOff) {
	limit := s.oneOffPart().clock.now().Add(s.horizon())
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.oneOffPart()
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
		if p.heard(err); err != nil {
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
	if p.heard(err); err == nil {
		p.clock.observe(view.Now, sent)
	}
}

// isMoving reports whether a cluster has put off a call because it moves what the call is about from one server to
// another.
func isMoving(err error) bool { return err != nil && strings.Contains(err.Error(), "TRYAGAIN") }
