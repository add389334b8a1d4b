package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// live is a run in flight on this node.
type live struct {
	ref    RunRef
	cancel context.CancelCauseFunc // of the context of its work
}

// errTakenOver is the cause of the context of a run that others have recorded as lost.
var errTakenOver = errors.New("the claim ran out before it was renewed, and another node has taken it over")

// keepClaims renews the claims of all live runs, and asks for the time, until the runs are done.
func (s *Scheduler) keepClaims(h *host) {
	for period := s.lease / 3; pause(h.records, period); {
		s.syncClock(h.records)
		if !s.renewClaims(h.records) {
			period = s.lease / 15
		} else {
			period = s.lease / 3
		}
	}
}

func (s *Scheduler) renewClaims(ctx context.Context) bool {
	s.mu.Lock()
	refs := make([]RunRef, 0, len(s.live))
	for _, l := range s.live {
		refs = append(refs, l.ref)
	}
	s.mu.Unlock()
	if len(refs) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	answered := true
	for i, err := range s.cfg.Store.Renew(ctx, refs, s.lease) {
		switch {
		case errors.Is(err, ErrGone):
			s.mu.Lock()
			l := s.live[refs[i].ID] // nil if the run has ended meanwhile: then it is gone as it should be
			s.mu.Unlock()
			if l != nil {
				l.cancel(errTakenOver)
			}
		case err != nil:
			answered = false
		}
	}
	return answered
}

// syncClock asks the store for the time, and so finds out whether it answers when there is nothing else to ask.
func (s *Scheduler) syncClock(ctx context.Context) {
	callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	sent := s.clock.local()
	view, err := s.cfg.Store.Look(callCtx, nil)
	if ctx.Err() != nil {
		return // what it said says nothing about the store
	}
	if s.heard(err); err == nil {
		s.clock.observe(view.Now, sent)
	}
}

func (s *Scheduler) track(e *entry, id string, cancel context.CancelCauseFunc) *live {
	l := &live{ref: RunRef{Job: e.job.Name, ID: id}, cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[id] = l
	s.perJob[e.job.Name]++
	return l
}

func (s *Scheduler) untrack(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, l.ref.ID)
	if s.perJob[l.ref.Job]--; s.perJob[l.ref.Job] == 0 {
		delete(s.perJob, l.ref.Job)
	}
}

func (s *Scheduler) isLive(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id] != nil
}

func (s *Scheduler) liveRuns(job string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.perJob[job]
}

func (s *Scheduler) setMark(e *entry, mark time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.mark = mark
}

func (s *Scheduler) setWake(e *entry, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.wake = at
}

// heard notes whether the store answered, and logs when that changes.
func (s *Scheduler) heard(err error) {
	s.mu.Lock()
	was, since := s.down, s.since
	s.down = err
	if err != nil && was == nil {
		s.since = s.clock.local()
	}
	s.mu.Unlock()
	switch {
	case err != nil && was == nil:
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelError, "job store unavailable, no ticks are claimed; trying again", slog.Any("error", err))
	case err == nil && was != nil:
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelInfo, "job store available again", slog.Duration("after", s.clock.local().Sub(since)))
	}
}
