package jobs

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotAgain says that a record does not stand for a run that can be run again. Errors wrap it.
var ErrNotAgain = errors.New("cannot be run again")

// RunAgain runs the tick of an ended run again, now, as [Scheduler.RunNow] does. The new run has the tick of the old
// one, so work that depends on the date is done for that date. It also has the payload of a one-off job. It is attempt
// 1 of its own, and the old record stays. The error wraps ErrUnknownRun if the run is not on record, and ErrNotAgain if
// it is in flight or its record stands for several ticks. It wraps ErrOrphaned and ErrOtherProgram as the error of
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
