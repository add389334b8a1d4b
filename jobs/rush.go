package jobs

import (
	"slices"
	"time"
)

const (
	rushPoll = 10 * time.Millisecond
	// rushStill ends a rush in which no run has begun for so long: those that have not wait for locks.
	rushStill = 200 * time.Millisecond
	// rushTime ends it in any case. What has ended waits for no longer with its locks and its record.
	rushTime = time.Second
)

// startRush puts off the ends of runs as long as others begin: when thousands are due together, each run is as late as
// all the work that is done before it. Mostly their ends go into fewer calls afterwards, too.
func (p *part) startRush(h *host) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rush != nil || s.state != started {
		return
	}
	s.rush, p.claiming = make(chan struct{}), true
	first := s.begun
	s.runs.Go(func() { s.watchRush(h, first) })
}

func (s *Scheduler) watchRush(h *host, first uint64) {
	last, still := first, time.Duration(0)
	for range rushTime / rushPoll {
		if !pause(h.waiting, rushPoll) {
			break
		}
		s.mu.Lock()
		begun, all := s.begun, s.coming == 0 && !slices.ContainsFunc(s.parts, func(p *part) bool { return p.claiming })
		s.mu.Unlock()
		if still += rushPoll; begun != last {
			last, still = begun, 0
		}
		if all || begun > first && still >= rushStill {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.rush)
	s.rush = nil
}

// setClaiming notes whether the loop knows of more to be claimed, so that more will begin.
func (p *part) setClaiming(more bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.claiming = more
}

// rushing returns a channel that is closed when the rush is over, nil if there is none.
func (s *Scheduler) rushing() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rush
}

// letOthersBegin waits for the end of a rush, unless the lock might be lost over it: then the run would count as lost.
func (x *attempt) letOthersBegin() {
	if x.e.lock.NoRenew || x.e.lock.MaxHold > 0 {
		return
	}
	if over := x.s.rushing(); over != nil {
		<-over
	}
}
