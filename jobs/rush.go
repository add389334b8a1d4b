package jobs

import "time"

const (
	// rushPause ends a rush in which no run has begun for so long: the others wait for locks, or there are none.
	rushPause = 50 * time.Millisecond
	// rushTime ends it in any case. What has ended waits for no longer with its locks and its record.
	rushTime = time.Second
)

// startRush puts off the ends of runs as long as others begin: when thousands are due together, each run is as late as
// all the work that is done before it. Mostly their ends go into fewer calls afterwards, too.
func (s *Scheduler) startRush(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rush != nil || s.state != started {
		return
	}
	s.rush = make(chan struct{})
	s.runs.Go(func() { s.watchRush(h, s.begun) })
}

func (s *Scheduler) watchRush(h *host, first uint64) {
	last := first
	for range rushTime / rushPause {
		if !pause(h.waiting, rushPause) {
			break
		}
		s.mu.Lock()
		begun := s.begun
		s.mu.Unlock()
		if begun == last && begun > first {
			break
		}
		last = begun
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.rush)
	s.rush = nil
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
