package jobs

import (
	"context"
	"slices"
	"time"
)

// noteFailure keeps a record beside those of its job. It needs mu.
func (s *memoryStore) noteFailure(r Run) {
	if !r.Failed() {
		return
	}
	s.failures = append(s.failures, r)
	if extra := len(s.failures) - keptFailures; extra > 0 {
		s.failures = slices.Delete(s.failures, 0, extra)
	}
}

func (s *memoryStore) Failures(ctx context.Context, limit int) (failures []Run, err error) {
	err = s.do(ctx, func(time.Time) error {
		latest := slices.Clone(s.failures)
		slices.Reverse(latest)
		failures = latestFailures(limit, latest)
		return nil
	})
	return failures, err
}
