package jobs

import (
	"errors"
	"time"
)

// part is what a scheduler keeps for one part of the store, which may be away while the others answer. Each has a loop,
// a heartbeater, a back-off and calls of its own, so that none waits for another.
type part struct {
	s         *Scheduler
	n         int
	clock     *clock // of the part
	starts    *gatherer[Start]
	finishes  *gatherer[Finish]
	recoverer recoverer
	wake      chan struct{} // tells the loop of added jobs and of one-off jobs

	// Scheduler.mu guards what follows.
	added    []*entry // not yet seen by the loop
	probed   []probed // not yet seen by the loop
	soon     []OneOff // not yet seen by the loop
	freed    []*entry // of which a run has ended that others may wait for; not yet seen by the loop
	peers    []string // sessions that are alive, sorted; as of the last heartbeat
	departed bool     // a session has gone since the loop looked last

	// What follows is about a store that loses data.
	answered  chan struct{} // closed at the next heartbeat that is answered
	answers   uint64        // how many heartbeats were
	lossAt    time.Time     // when a loss was noticed last, on the store's clock
	heldUntil time.Time     // nothing is claimed before, by the local clock
	forgetful bool          // what this node knows is to be put back
	stale     bool          // all jobs are to be registered again
}

func newPart(s *Scheduler, n int) *part {
	p := &part{
		s: s, n: n, clock: newClock(s.cfg.Now), starts: newGatherer(s.cfg.Store.Start),
		finishes: newGatherer(s.cfg.Store.Finish),
		wake:     make(chan struct{}, 1), answered: make(chan struct{}),
	}
	p.recoverer = recoverer{s: s, part: p}
	return p
}

// partOf returns the part of the store that a job is in.
func (s *Scheduler) partOf(job string) *part { return s.parts[s.cfg.Store.PartOf(job)] }

// oneOffPart has the one-off jobs.
func (s *Scheduler) oneOffPart() *part { return s.partOf(HandlerPrefix) }

// rouse wakes the loop.
func (p *part) rouse() {
	select {
	case p.wake <- struct{}{}:
	default: // the loop has not yet seen the last signal, and will see this with it
	}
}

// free has the loop look at a job again whose ticks wait for the runs of this node.
func (p *part) free(e *entry) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.freed = append(p.freed, e)
	p.rouse()
}

// alive returns the sessions that are alive, sorted; as of the last heartbeat.
func (p *part) alive() []string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.peers
}

// entries are the jobs of the part. It needs Scheduler.mu.
func (p *part) entries() (all []*entry) {
	for _, e := range p.s.entries {
		if e.part == p {
			all = append(all, e)
		}
	}
	return all
}

// heardClaims notes whether the part takes claims, and reports whether it is away. What shows that it does is a run that is
// in flight by one of them: the others change nothing, or only a cursor. Where another node was first, the cursor is a tick
// that the part has given to that one.
func (p *part) heardClaims(what purpose, claims []Claim, results []Claimed) (away bool) {
	verdicts := make([]verdict, len(results))
	for i, c := range results {
		won := c.Err == nil && c.Status == ClaimWon && claims[i].InFlight != nil
		verdicts[i] = verdict{job: claims[i].Job, oneOff: claims[i].OneOff, err: c.Err, done: won}
		if c.Err == nil && c.Status == ClaimTaken && !c.Cursor.IsZero() {
			verdicts[i].others = p.clock.localAt(c.Cursor)
		}
	}
	return p.s.outage.heardEach(p.n, what, verdicts)
}

// heardOfRun notes whether the part has done what it was asked for with a run.
func (p *part) heardOfRun(what purpose, run *Run, err error) {
	p.s.outage.heardEach(p.n, what, []verdict{verdictOf(run, err)})
}

// heardOfEnds notes whether the part has recorded the ends of runs.
func (p *part) heardOfEnds(finishes []Finish, errs []error) {
	verdicts := make([]verdict, len(errs))
	for i, err := range errs {
		verdicts[i] = verdictOf(&finishes[i].Run, err)
	}
	p.s.outage.heardEach(p.n, recording, verdicts)
}

// verdictOf is what a part has said about a run. That it does not know the run, or that somebody wants it to end, is as good
// as done.
func verdictOf(run *Run, err error) verdict {
	var cancelled *CancelledError
	if errors.Is(err, ErrGone) || errors.Is(err, ErrCompleted) || errors.As(err, &cancelled) {
		err = nil
	}
	return verdict{job: run.Job, oneOff: run.OneOff, err: err, done: err == nil}
}

// heard notes whether the part has done what it was asked for.
func (p *part) heard(what purpose, err error) { p.s.outage.heard(p.n, what, err) }
