package jobs

import (
	"context"
	"fmt"
	"slices"
)

// Failures returns runs of this scheduler's jobs and handlers that ended in an error, a panic or a timeout, or were
// lost, the latest first, limit at most. It finds those among the last 20 records of each job, fewer where there are more
// than 100 jobs, down to the last one. It blocks until the store has answered or ctx ends.
func (s *Scheduler) Failures(ctx context.Context, limit int) ([]Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	s.mu.Lock()
	names := make([]string, 0, len(s.entries))
	for name := range s.entries {
		names = append(names, name)
	}
	s.mu.Unlock()
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	const perJob, inAll = 20, 2000 // records to look at
	records, err := s.cfg.Store.Runs(ctx, names, min(perJob, max(1, inAll/len(names))))
	if err != nil {
		return nil, fmt.Errorf("list the last failures of %d jobs: %w", len(names), err)
	}
	var failures []Run
	for _, runs := range records {
		for _, r := range runs {
			switch r.Outcome {
			case OutcomeError, OutcomePanic, OutcomeTimeout, OutcomeLost:
				failures = append(failures, r)
			}
		}
	}
	slices.SortStableFunc(failures, func(a, b Run) int { return b.Ended.Compare(a.Ended) })
	return failures[:min(len(failures), limit)], nil
}
