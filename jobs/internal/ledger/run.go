package ledger

import (
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Start notes that a run begins. It needs the run and its notice.
func (s *State) Start(b jobs.Start, now time.Time) error {
	p, ok := s.owned(b.Run.ID, b.Owner)
	at := b.Run.Started.UnixMicro()
	if !ok || at <= p.Void.UnixMicro() && !p.Void.IsZero() {
		return jobs.ErrGone
	}
	if n, told := s.Notices[b.Run.ID]; told && n.Owner == "" {
		return &jobs.CancelledError{Notice: n.Notice}
	}
	if at >= p.Run.Started.UnixMicro() { // else an earlier call comes late
		p.Run.Started, p.Run.Fence = b.Run.Started, b.Run.Fence
	}
	s.hold(p, now, b.Lease)
	return nil
}

// Finish ends a run. It needs the job, the run and what follows, the run's notice, and the lease of the owner of an
// orphan.
func (s *State) Finish(f jobs.Finish, now time.Time) error {
	goesBack := f.Next != nil && f.Next.Run.ID == f.Run.ID && f.Next.Owner == f.Owner
	if f.Next != nil && !goesBack {
		if _, repeated := s.owned(f.Next.Run.ID, f.Next.Owner); repeated {
			return nil
		}
	}
	p, ok := s.owned(f.Run.ID, f.Owner)
	if !ok || f.Orphan && s.Alive[f.Owner].After(now) {
		return jobs.ErrGone
	}
	if begun := p.Run.Started.UnixMicro() > f.Run.Started.UnixMicro(); begun && goesBack {
		return nil // an earlier call has handed it back
	} else if begun && f.Run.Outcome == jobs.OutcomeLost {
		return jobs.ErrGone
	}
	if p.Completed && (f.Run.Outcome != jobs.OutcomeOK || f.Next != nil) {
		return jobs.ErrCompleted
	}
	delete(s.InFlight, f.Run.ID)
	asked := s.askedToEnd(&f)
	if asked != nil {
		f.Run.CancelAsked, f.Next = asked, nil
	}
	if f.Orphan && f.Owner != jobs.Nobody {
		taken := jobs.Notice{Job: f.Run.Job, ID: f.Run.ID, At: now, Taken: true}
		s.Notices[f.Run.ID] = Notice{taken, f.Owner}
	}
	if f.Run.Outcome != "" {
		s.job(f.Run.Job).record(f.Run, f.Keep, now)
		s.noteFailure(f.Run)
	}
	if f.Next != nil {
		s.hold(*f.Next, now, f.Lease)
	}
	if asked != nil {
		return &jobs.CancelledError{Notice: *asked}
	}
	return nil
}

// askedToEnd takes the notice of somebody who wants the run to end, nil if there is none, unless the run goes on.
func (s *State) askedToEnd(f *jobs.Finish) *jobs.Notice {
	if f.Next != nil && f.Next.Run.ID == f.Run.ID {
		return nil // not yet
	}
	n, told := s.Notices[f.Run.ID]
	delete(s.Notices, f.Run.ID)
	if !told || n.Owner != "" {
		return nil
	}
	return &n.Notice
}

// Cancel leaves a notice for a run. It needs the run.
func (s *State) Cancel(n jobs.Notice) error {
	if _, ok := s.InFlight[n.ID]; !ok {
		return jobs.ErrGone
	}
	n.At = n.At.UTC().Truncate(time.Microsecond)
	s.Notices[n.ID] = Notice{n, ""}
	return nil
}
