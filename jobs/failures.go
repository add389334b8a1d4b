package jobs

import (
	"context"
	"fmt"
)

// Failed reports whether a run ended in an error, a panic or a timeout, or was lost.
func (r Run) Failed() bool {
	switch r.Outcome {
	case OutcomeError, OutcomePanic, OutcomeTimeout, OutcomeLost:
		return true
	}
	return false
}

// Failures returns the failures ([Run.Failed]) of all jobs and handlers of the cluster that were recorded last, the
// latest first, limit at most. The store keeps the newest 200 at least, however often their jobs have run since. If
// only a part of the store does not answer, those of the others come with an error that wraps a [*PartsError]. It
// blocks until the store has answered or ctx ends.
func (s *Scheduler) Failures(ctx context.Context, limit int) ([]Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	failures, err := s.cfg.Store.Failures(ctx, limit)
	if err != nil {
		return failures, fmt.Errorf("list the last %d failures: %w", limit, err)
	}
	return failures, nil
}
