package jobs

import (
	"slices"
	"time"
)

const (
	burstPoll = 10 * time.Millisecond
	// burstStill ends a burst in which no run has begun for so long: those that have not wait for locks.
	burstStill = 200 * time.Millisecond
	// burstTime ends it in any case. What has ended waits for no longer with its locks and its record.
	burstTime = time.Second
)

// startBurst puts off the ends of runs as long as others begin: when thousands are due together, each run is as late as
// all the work that is done before it. Mostly their ends go into fewer calls afterwards, too.
func (p *part) startBurst(h *host) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.burst != nil || s.state != started {
		return
	}
	s.burst, p.claiming = make(chan struct{}), true
	first := s.begun
	s.runs.Go(func() { s.watchBurst(h, first) })
}

func (s *Scheduler) watchBurst(h *host, first uint64) {
	last, still := first, time.Duration(0)
	for range burstTime / burstPoll {
		if !pause(h.waiting, burstPoll) {
			break
		}
		s.mu.Lock()
		begun, all := s.begun, s.coming == 0 && !slices.ContainsFunc(s.parts, func(p *part) bool { return p.claiming })
		s.mu.Unlock()
		if still += burstPoll; begun != last {
			last, still = begun, 0
		}
		if all || begun > first && still >= burstStill {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.burst)
	s.burst = nil
}

// setClaiming notes whether the loop knows of more to be claimed, so that more will begin.
func (p *part) setClaiming(more bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.claiming = more
}

// inBurst returns a channel that is closed when the burst is over, nil if there is none.
func (s *Scheduler) inBurst() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.burst
}

// letOthersBegin waits for the end of a burst, unless the lock might be lost over it: then the run would count as lost.
func (x *attempt) letOthersBegin() {
	if x.e.lock.NoRenew || x.e.lock.MaxHold > 0 {
		return
	}
	if over := x.s.inBurst(); over != nil {
		<-over
	}
}
