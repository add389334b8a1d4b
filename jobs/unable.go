package jobs

import (
	"errors"
	"log/slog"
	"time"
)

// This file is about a node whose claims and signs of life are answered, but not the begins of its runs. It would keep
// their ticks and their locks for as long as that lasts, and the jobs would stand still in the whole cluster. So it passes
// the runs on, and lets other nodes be first at further ones. It cannot know whether those fare better: if they do not,
// all still try, and the first that can begin a run does.

const (
	// unableTime is for how long a node remembers that it has passed on a run of a job.
	unableTime = 5 * time.Minute
	// leaveTime is for how long it lets others be first at the ticks of that job. It is less than the time for which Err
	// tells of a failure that is not met again: a node that never tries would seem to fare better.
	leaveTime = 20 * time.Second
	// yieldTime is how long others have then to claim a tick.
	yieldTime = 500 * time.Millisecond
)

// isUnable reports whether the run is to be passed on, since the store has not taken its begin since a while. err is what
// it has said last.
func (x *attempt) isUnable(err error, since time.Time) bool {
	if errors.Is(err, ErrLocked) || time.Since(since) < x.holds() || len(x.e.part.alive()) < 2 {
		return false // for a transaction it waits here as well as elsewhere
	}
	x.s.mu.Lock()
	x.unable, x.e.unable = true, time.Now()
	x.s.mu.Unlock()
	x.s.cfg.Logger.Warn("job run passed on to other nodes, the job store does not let it begin on this one",
		slog.String("job", x.e.job.Name), slog.Time("tick", x.p.Run.Tick), slog.Any("error", err))
	return true
}

// holds is how long the attempt is held while it cannot begin: as long as that of a node which has died. It is shorter
// where that has come to nothing before, and longer for a run that has been passed on already: nodes may all be the same.
func (x *attempt) holds() time.Duration {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	switch {
	case x.p.Run.Trigger == TriggerRecovery:
		return 4 * x.s.lease
	case x.e.leaves(unableTime):
		return maxPause
	}
	return x.s.lease
}

// isAble notes that a run has begun.
func (s *Scheduler) isAble(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.unable = time.Time{}
}

// leaves reports whether this node has passed on a run of the job within a time, and there are others. It needs
// Scheduler.mu.
func (e *entry) leaves(within time.Duration) bool {
	return !e.unable.IsZero() && time.Since(e.unable) < within && len(e.part.peers) > 1
}

// yield is how long after it is due a tick is left to others.
func (l *loop) yield(e *entry) time.Duration {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if e.leaves(leaveTime) {
		return yieldTime
	}
	return 0
}
