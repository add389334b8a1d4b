package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The errors of calls that name a job or a run. Errors wrap them.
var (
	ErrUnknownJob = errors.New("unknown job")
	ErrUnknownRun = errors.New("unknown run")
	// ErrOrphaned says that a job was removed or renamed: nodes are running, and none of them has it.
	ErrOrphaned = errors.New("no node has the job any more")
	// ErrOtherProgram says that a job belongs to another program in the same namespace; see Config.Program.
	ErrOtherProgram = errors.New("another program has a job of this name")
)

// Pause says by whom, when and why the ticks of a job were paused.
type Pause struct {
	Author string    `json:"author"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"` // since when
	// Version identifies a pause of the job. Each pause has a higher version than those before it.
	Version int64 `json:"-"`
}

// Pause stops the ticks of a job in the whole cluster until [Scheduler.Resume], also across restarts. Runs that were
// claimed before go on, with their retries, and [Scheduler.RunNow] still works. Ticks during the pause are not run
// later; one record stands for them. Pausing a paused job replaces author and reason. The error wraps ErrUnknownJob if
// no node has ever added the job.
//
// In this and all other methods, the author is cut at 200 bytes and the reason at 2 KiB, between two characters. Both
// are stored as one line: control and format characters are replaced.
func (s *Scheduler) Pause(ctx context.Context, job, author, reason string) error {
	author, reason = plain(author, maxAuthor), plain(reason, maxReason)
	_, now, err := s.lookAtKnown(ctx, job)
	var state PauseState
	for p := (Pause{Author: author, Reason: reason, At: now}); err == nil; {
		state, err = s.cfg.Store.Pause(ctx, job, p)
		resumed := time.UnixMicro(state.Version).UTC()
		if state.Pause != nil || !resumed.After(p.At) {
			break
		}
		p.At = resumed // somebody was faster, or the store's clock was set back
	}
	if err != nil {
		return fmt.Errorf("pause job %q: %w", brief(job), err)
	}
	s.memory.notePause(state)
	s.cfg.Logger.WarnContext(ctx, "job paused", "job", job, "author", author, "reason", reason)
	return nil
}

// Resume ends a pause: the job's next tick is the first from now on. Resuming a job that is not paused does nothing.
// The error wraps ErrUnknownJob if no node has ever added the job.
func (s *Scheduler) Resume(ctx context.Context, job, author string) error {
	author = plain(author, maxAuthor)
	for {
		view, now, err := s.lookAtKnown(ctx, job)
		if err != nil {
			return fmt.Errorf("resume job %q: %w", brief(job), err)
		}
		if view.Paused == nil {
			return nil
		}
		state, err := s.cfg.Store.Resume(ctx, job, view.Paused.Version, s.pausedRecord(job, author, view, now),
			s.cfg.History)
		switch {
		case errors.Is(err, ErrGone): // somebody else has resumed it, or paused it anew
			continue
		case err != nil:
			return fmt.Errorf("resume job %q: %w", brief(job), err)
		}
		s.memory.notePause(state)
		s.cfg.Logger.InfoContext(ctx, "job resumed", "job", job, "author", author, "paused by", view.Paused.Author)
		return nil
	}
}

// pausedRecord stands for the ticks from the cursor to now.
func (s *Scheduler) pausedRecord(job, author string, view JobView, now time.Time) Run {
	why := fmt.Sprintf("paused by %s from %s until resumed by %s", view.Paused.Author,
		view.Paused.At.Format(time.RFC3339), author)
	if view.Paused.Reason != "" {
		why += ": " + view.Paused.Reason
	}
	r := Run{
		ID: s.newID(job), Job: job, Tick: now, Claimed: now, Ended: now, Node: s.cfg.Node,
		Outcome: OutcomeSkipped, Reason: why, Attempt: 1, Trigger: TriggerSchedule, Author: author,
	}
	e := &entry{zone: s.cfg.Location, timings: periodsOf(view.Spec.Timings, Timing{}, nil, nil)}
	if own := s.entry(job); own != nil { // it may have a schedule that no other can compute
		e.timings = periodsOf(view.Spec.Timings, own.timing(), own.schedule, own.zone)
	}
	if first := e.after(view.Cursor); !first.IsZero() && first.Before(now) {
		r.First = first
		r.Tick = e.lastBefore(first, now)
		r.Ticks = e.count(&gap{first: first, last: r.Tick})
	}
	return r
}

// RunNow runs a job once, now, in addition to its schedule, and also while it is paused. Its locks and Overlap apply.
// If this scheduler is running and has the job, it makes the run itself. Otherwise a node that has the job picks it up
// within seconds. RunNow returns the run's ID as soon as the store has it; see [Scheduler.FindRun]. The error wraps
// ErrUnknownJob if no node has ever added the job, and ErrOrphaned if nodes are running and none of them has it. It
// wraps ErrOtherProgram if another program has the job and this scheduler has a job of the same name.
func (s *Scheduler) RunNow(ctx context.Context, job, author string) (runID string, err error) {
	view, now, err := s.lookAtKnown(ctx, job)
	var program string
	if err == nil {
		program, err = s.owner(ctx, &view.Spec)
	}
	if err == nil {
		runID, err = s.put(ctx, Run{Job: job, Tick: now, Claimed: now, Author: author}, program)
	}
	if err != nil {
		return "", fmt.Errorf("run job %q now: %w", brief(job), err)
	}
	return runID, nil
}

// put has a run that somebody asked for in flight, on this node if it is running and has the job, for nodes of a
// program.
func (s *Scheduler) put(ctx context.Context, r Run, program string) (runID string, err error) {
	r.ID, r.Node, r.Attempt, r.Trigger = s.newID(r.Job), s.cfg.Node, 1, TriggerManual
	r.Author = plain(r.Author, maxAuthor)
	p := InFlight{Run: r, Owner: Nobody, Locker: s.locks.Node(), Program: program}
	e, h, done := s.here(r.Job)
	defer done()
	if e != nil {
		p.Owner = s.session
	}
	claimed := s.cfg.Store.Claim(ctx, []Claim{{Job: r.Job, Manual: true, InFlight: &p, Lease: s.lease,
		Keep: s.cfg.History}})[0]
	if claimed.Err != nil {
		return "", fmt.Errorf("%w; it may have reached the store and be run all the same", claimed.Err)
	}
	s.cfg.Logger.InfoContext(ctx, "job run asked for", "job", r.Job, "author", r.Author, "run", r.ID)
	if e != nil {
		s.launch(h, e, &p)
	}
	return r.ID, nil
}

// Cancel ends a run on any node. The context of the run is cancelled within seconds, and the run is recorded as
// cancelled by author. A run that has not begun does not begin, on any node. A run that no live node has is recorded at
// once. A run that ends before its node learns of the request is recorded as it ended, with Run.CancelAsked. Cancel
// blocks until the store has the request, not until the run has ended. The error wraps ErrUnknownRun if the run is not
// in flight.
func (s *Scheduler) Cancel(ctx context.Context, runID, author, reason string) error {
	job, ok := jobOfRun(runID)
	if !ok {
		return fmt.Errorf("cancel run %q: %w: this is no run's ID", brief(runID), ErrUnknownRun)
	}
	now, err := s.storeTime(ctx, job)
	n := Notice{Job: job, ID: runID, At: now, Author: plain(author, maxAuthor), Reason: plain(reason, maxReason)}
	if err == nil {
		err = s.cfg.Store.Cancel(ctx, n)
	}
	switch {
	case errors.Is(err, ErrGone):
		return fmt.Errorf("cancel run %q: %w: it is not in flight", brief(runID), ErrUnknownRun)
	case err != nil:
		return fmt.Errorf("cancel run %q: %w", brief(runID), err)
	}
	s.cfg.Logger.WarnContext(ctx, "job run to be cancelled", "run", runID, "author", n.Author, "reason", n.Reason)
	s.live.obey(n) // if it is here, there is no need to wait for the next heartbeat
	s.endUnowned(ctx, n, now)
	return nil
}

// endUnowned ends a cancelled run if no live node has it. If that fails, the node that takes the run over finds the
// notice.
func (s *Scheduler) endUnowned(ctx context.Context, n Notice, now time.Time) {
	view, err := s.cfg.Store.Look(ctx, []string{n.Job})
	if err != nil {
		return
	}
	for _, p := range view.Jobs[0].InFlight {
		if p.Run.ID != n.ID {
			continue
		}
		f := Finish{Run: p.Run, Owner: p.Owner, Orphan: true, Keep: s.cfg.History}
		f.Run.Ended, f.Run.Outcome = latest(now, p.Run.latest()), OutcomeCancelled
		f.Run.Reason = (&cancelledError{author: n.Author, reason: n.Reason}).Error() + ", while no living node had it"
		if p.Completed {
			f.complete()
		}
		var cancelled *CancelledError
		if err := s.cfg.Store.Finish(ctx, []Finish{f})[0]; err == nil || errors.As(err, &cancelled) {
			f.Run.CancelAsked = &n
			s.report(f.Run)
		}
	}
}

// storeTime asks for the time, where the job is.
func (s *Scheduler) storeTime(ctx context.Context, job string) (time.Time, error) {
	view, err := s.cfg.Store.Look(ctx, []string{job})
	return view.Now, err
}

// lookAtKnown returns the state of one job.
func (s *Scheduler) lookAtKnown(ctx context.Context, job string) (JobView, time.Time, error) {
	view, err := s.cfg.Store.Look(ctx, []string{job})
	if err == nil && view.Jobs[0].Cursor.IsZero() {
		if err = s.remind(ctx, job); err == nil {
			view, err = s.cfg.Store.Look(ctx, []string{job})
		}
	}
	switch {
	case err != nil:
		return JobView{}, time.Time{}, err
	case view.Jobs[0].Cursor.IsZero():
		return JobView{}, time.Time{}, fmt.Errorf("%w: no node has ever added it", ErrUnknownJob)
	}
	return view.Jobs[0], view.Now, nil
}
