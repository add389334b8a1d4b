package jobs

import (
	"context"
	"math/rand/v2"
	"slices"
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

// heartbeater is the one goroutine that gives signs of life of this node and its runs in one part of the store, and
// acts on the answers. What it knows is its own: no mutex guards it.
type heartbeater struct {
	s    *Scheduler
	part *part
	host *host

	stamp      string    // of the last heartbeat
	registered time.Time // when the jobs were registered last
	steady     time.Time // since when all heartbeats have succeeded; zero: the last one failed
	strange    int       // heartbeats in a row with runs in flight that this node does not know of
}

// run goes on until no more time is given to tell the store.
func (b *heartbeater) run() {
	every := b.s.cfg.Heartbeat
	b.registered = time.Now()
	for {
		reply, ok := b.send()
		if ok {
			b.part.restore(b.host)
			b.listen(b.believe(reply))
		} else {
			b.steady = time.Time{}
		}
		if ok && time.Since(b.registered) > registerTime {
			b.registered = time.Now()
			b.s.keeping.Go(b.registerAgain) // beside the heartbeats, which must go on
		}
		// Heartbeats of nodes that started together are spread.
		if !pause(b.host.records, every-rand.N(every/8)) {
			return
		}
	}
}

// believe takes the orphans out of a reply that may be none: when the store was away all sessions seem dead at first,
// and each gets the time to give a sign of life.
func (b *heartbeater) believe(reply HeartbeatReply) HeartbeatReply {
	if reply.Lost {
		b.steady = time.Time{}
	}
	if b.steady.IsZero() {
		b.steady = time.Now()
	}
	if time.Since(b.steady) < b.s.lease {
		reply.Orphans = slices.DeleteFunc(reply.Orphans, func(p InFlight) bool { return p.Owner != Nobody })
	}
	return reply
}

// send reports false if the part did not answer.
func (b *heartbeater) send() (HeartbeatReply, bool) {
	s, p := b.s, b.part
	ctx, cancel := context.WithTimeout(b.host.records, storeTimeout)
	defer cancel()
	beat := Heartbeat{
		Part: p.n, Session: s.session, Node: b.node(), Lease: s.lease, Horizon: p.horizon(), Stamp: b.stamp,
	}
	oneOffs := p == s.oneOffPart()
	if oneOffs {
		beat.Waiting = s.memory.believedWaiting()
	}
	sent, accepted := p.clock.local(), s.memory.acceptedIn(p.n)
	reply, err := s.cfg.Store.Heartbeat(ctx, beat)
	if b.host.records.Err() != nil {
		return HeartbeatReply{}, false // what it said says nothing about the store
	}
	if p.heard(beating, err); err != nil {
		return HeartbeatReply{}, false
	}
	p.clock.observe(reply.Now, sent)
	s.clocks.compare(ctx)
	b.stamp = reply.Stamp
	s.memory.hear(reply, oneOffs)
	lost := s.memory.checkPauses(accepted, reply)
	switch {
	case reply.Lost:
		p.noticeLoss("it does not know of this node's last sign of life")
	case lost != "":
		p.noticeLoss("it does not know that this node has paused or resumed job " + lost)
	}
	p.noteHeartbeat()
	return reply, true
}

// node is what a heartbeat tells of this node.
func (b *heartbeater) node() Node {
	s, clock := b.s, b.part.clock
	offset := clock.offset()
	s.mu.Lock()
	jobs := len(s.entries)
	s.mu.Unlock()
	return Node{
		Name: s.cfg.Node, Session: s.session, Started: clock.storeTime(s.began), ClockOffset: offset,
		Jobs: jobs, Running: s.live.count(), Draining: b.host.waiting.Err() != nil,
		Program: s.cfg.Program, Version: s.cfg.Version, History: s.cfg.History,
	}
}

// listen acts on a reply.
func (b *heartbeater) listen(reply HeartbeatReply) {
	for _, n := range reply.Notices {
		b.s.live.obey(n)
	}
	b.part.meet(reply.Peers)
	known := b.s.live.countIn(b.part.n)
	if b.host.waiting.Err() != nil {
		b.strange = 0
		return
	}
	b.s.oneOffPart().expect(reply.Due)
	b.part.recoverer.recover(b.host, reply.Orphans)
	if reply.Held <= known {
		b.strange = 0
		return
	}
	// Runs that are just being claimed or recorded look strange for a moment.
	if b.strange++; b.strange >= 3 {
		b.strange = 0
		b.part.recoverer.reconcile(b.host)
	}
}

// registerAgain tells the store that the jobs are still in use, and looks after those that are not any more.
func (b *heartbeater) registerAgain() {
	ctx := b.host.records
	b.part.registerAgain(ctx)
	if b.part == b.s.oneOffPart() {
		b.s.tidy(ctx)
	}
}
