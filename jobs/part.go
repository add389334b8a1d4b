package jobs

import (
	"context"
	"log/slog"
	"time"
)

// part is what a scheduler keeps for one part of the store, which may be away while the others answer. Each has a loop,
// a keeper of the session, a back-off and calls of its own, so that none waits for another.
type part struct {
	s        *Scheduler
	n        int
	clock    *clock // of the part
	starts   *gatherer[Start]
	finishes *gatherer[Finish]
	wake     chan struct{} // tells the loop of added jobs and of one-off jobs
	stamp    string        // of the last heartbeat; only the keeper uses it
	asked    string        // the last one-off job that a heartbeat has asked about; only the keeper uses it

	// Scheduler.mu guards what follows.
	added    []*entry // not yet seen by the loop
	probed   []probed // not yet seen by the loop
	soon     []OneOff // not yet seen by the loop
	freed    []*entry // of which a run has ended that others may wait for; not yet seen by the loop
	peers    []string // sessions that are alive, sorted; as of the last heartbeat
	departed bool     // a session has gone since the loop looked last
	live     int      // runs of this node
	down     error    // why the part could not be asked last
	claiming bool     // the loop is at the claims of a burst

	// What follows is about a store that loses data.
	answered  chan struct{} // closed at the next heartbeat that is answered
	answers   uint64        // how many heartbeats were
	lossAt    time.Time     // when a loss was noticed last, on the store's clock
	heldUntil time.Time     // nothing is claimed before, by the local clock
	forgetful bool          // what this node knows is to be put back
	stale     bool          // all jobs are to be registered again

	accepted map[string]int64 // versions of pauses and resumes that this node has put and no heartbeat has told of, by job

	recovering bool // orphans are being taken over
}

func newPart(s *Scheduler, n int) *part {
	return &part{
		s: s, n: n, clock: newClock(s.cfg.Now), starts: newGatherer(s.cfg.Store.Start),
		finishes: newGatherer(s.cfg.Store.Finish),
		wake:     make(chan struct{}, 1), answered: make(chan struct{}),
		accepted: make(map[string]int64),
	}
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

// downParts returns how many parts did not answer last, and what one of them said. It needs mu.
func (s *Scheduler) downParts() (n int, err error) {
	for _, p := range s.parts {
		if p.down != nil {
			n, err = n+1, p.down
		}
	}
	return n, err
}

// heard notes whether the part answered. The log hears of the first part that does not, and of when all do again.
func (p *part) heard(err error) {
	if isMoving(err) {
		return // it answers, and will know better in a moment
	}
	s := p.s
	now := time.Now()
	s.mu.Lock()
	before, _ := s.downParts()
	p.down = err
	after, _ := s.downParts()
	since := s.since
	if before == 0 && after > 0 {
		s.since = now
	}
	s.mu.Unlock()
	switch {
	case before == 0 && after > 0 && len(s.parts) == 1:
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError,
			"job store unavailable, no ticks are claimed; trying again", slog.Any("error", err))
	case before == 0 && after > 0:
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError,
			"part of the job store unavailable, ticks of the jobs in it are not claimed; trying again",
			slog.Any("error", err), slog.Int("part", p.n))
	case before > 0 && after == 0:
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelInfo, "job store available again",
			slog.Duration("after", now.Sub(since)))
	}
}
