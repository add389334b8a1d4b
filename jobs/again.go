package jobs

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotAgain says that a record stands for nothing that can be run again; it is wrapped.
var ErrNotAgain = errors.New("cannot be run again")

// RunAgain runs the tick of a run that has ended once more, now, as [Scheduler.RunNow] does: the new run has the tick
// of the old one, so that work which depends on the date is done for that date, and the payload of a one-off job. It
// is the first attempt of its own; the old record stays. The error wraps ErrUnknownRun if the run is not on record,
// ErrNotAgain if it is in flight or its record stands for several ticks, and ErrOrphaned and ErrOtherProgram as that of
// RunNow does.
func (s *Scheduler) RunAgain(ctx context.Context, runID, author string) (newID string, err error) {
	old, err := s.FindRun(ctx, runID)
	switch {
	case err != nil:
		return "", fmt.Errorf("run %q again: %w", brief(runID), err)
	case old.Outcome == "":
		return "", fmt.Errorf("run %q again: %w: it has not ended", brief(runID), ErrNotAgain)
	case old.Ticks > 1:
		return "", fmt.Errorf("run %q again: %w: its record stands for %d ticks", brief(runID), ErrNotAgain, old.Ticks)
	}
	view, err := s.cfg.Store.Look(ctx, []string{old.Job})
	var program string
	if err == nil {
		program, err = s.owner(ctx, &view.Jobs[0].Spec)
	}
	if err == nil {
		newID, err = s.put(ctx, Run{
			Job: old.Job, Tick: old.Tick, Claimed: view.Now, OneOff: old.OneOff, Payload: old.Payload, Author: author,
		}, program)
	}
	if err != nil {
		return "", fmt.Errorf("run %q again: %w", brief(runID), err)
	}
	return newID, nil
}
