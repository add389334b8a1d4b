package jobs

import (
	"context"
	"fmt"
)

// RecentRuns returns the records of several jobs in the order asked for, of each the latest recorded first and perJob
// at most. If only a part of the store does not answer, the records in the others come with an error that wraps a
// [*PartsError]. It asks each part once, and blocks until the store has answered or ctx ends.
func (s *Scheduler) RecentRuns(ctx context.Context, perJob int, jobs ...string) ([][]Run, error) {
	if len(jobs) == 0 || perJob < 1 {
		return make([][]Run, len(jobs)), nil
	}
	found, err := s.reads.runs(ctx, jobs, perJob)
	if len(found) == 0 {
		err = causeOf(err) // there is nothing that others could tell
	}
	runs := make([][]Run, len(jobs))
	for i, job := range jobs {
		runs[i] = found[job]
	}
	if err != nil {
		err = fmt.Errorf("list the last %d runs of %d jobs: %w", perJob, len(jobs), err)
	}
	return runs, err
}
