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

// Failures returns the latest failures ([Run.Failed]) of all jobs and handlers of the cluster, the latest recorded
// first, limit at most. The store keeps at least the newest 200, however often the jobs have run since. If only a part
// of the store does not answer, the failures of the other parts come with an error that wraps a [*PartsError]. It
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
