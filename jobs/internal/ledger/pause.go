package ledger

import (
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Pause pauses a job. It needs the job.
func (s *State) Pause(job string, p jobs.Pause, now time.Time) (jobs.PauseState, error) {
	j := s.Jobs[job]
	if j == nil || j.Cursor.IsZero() {
		return jobs.PauseState{}, jobs.ErrUnknownJob
	}
	switch p.At = p.At.UTC().Truncate(time.Microsecond); {
	case j.Paused != nil:
		p.At = j.Paused.At
	case p.At.UnixMicro() > 0 && p.At.UnixMicro() < j.Switched: // it comes late
		return jobs.PauseState{Job: job, Version: j.Switched}, nil
	}
	j.Switched = max(now.UnixMicro(), j.Switched+1)
	p.Version = j.Switched
	j.Paused = &p
	return jobs.PauseState{Job: job, Version: p.Version, Pause: &p}, nil
}

// Resume ends a job's pause. It needs the job.
func (s *State) Resume(
	job string, version int64, record jobs.Run, keep int, now time.Time,
) (jobs.PauseState, error) {
	j := s.Jobs[job]
	if j == nil || j.Paused == nil || j.Paused.Version != version {
		return jobs.PauseState{}, jobs.ErrGone
	}
	j.Paused, j.Switched = nil, max(now.UnixMicro(), j.Switched+1)
	if now.After(j.Cursor) {
		j.Cursor = now
	}
	j.record(record, keep, now)
	return jobs.PauseState{Job: job, Version: j.Switched}, nil
}

// Restore puts back what a session knows. It needs all that m names.
func (s *State) Restore(m jobs.Memory, now time.Time) {
	for _, p := range m.Pauses {
		s.job(p.Job).restorePause(p)
	}
	for _, p := range m.InFlight {
		if _, known := s.InFlight[p.Run.ID]; !known {
			s.job(p.Run.Job)
			s.hold(p, now, m.Lease)
		}
	}
	for _, o := range m.Waiting {
		if s.Past[o.ID].IsZero() {
			s.wait(o)
		}
	}
	for _, id := range m.Past {
		delete(s.Waiting, id)
		if s.Past[id].IsZero() {
			s.Past[id] = now
		}
	}
}

func (j *Job) restorePause(p jobs.PauseState) {
	if p.Version <= j.Switched {
		return
	}
	if j.Switched, j.Paused = p.Version, nil; p.Pause != nil {
		paused := *p.Pause
		paused.Version, j.Paused = p.Version, &paused
	}
}
