package jobs

import (
	"context"
	"fmt"
)

// RecentRuns returns the records of several jobs in the order asked for, of each the latest recorded first and perJob
// at most. It asks the store once, and blocks until it has answered or ctx ends.
func (s *Scheduler) RecentRuns(ctx context.Context, perJob int, jobs ...string) ([][]Run, error) {
	if len(jobs) == 0 || perJob < 1 {
		return make([][]Run, len(jobs)), nil
	}
	runs, err := s.cfg.Store.Runs(ctx, jobs, perJob)
	if err != nil {
		return nil, fmt.Errorf("list the last %d runs of %d jobs: %w", perJob, len(jobs), err)
	}
	return runs, nil
}
