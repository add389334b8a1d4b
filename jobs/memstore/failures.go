package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// noteFailure keeps a record beside those of its job. It needs mu.
func (s *Store) noteFailure(r jobs.Run) {
	if !r.Failed() {
		return
	}
	s.failures = append(s.failures, r)
	if extra := len(s.failures) - jobs.KeptFailures; extra > 0 {
		s.failures = slices.Delete(s.failures, 0, extra)
	}
}

func (s *Store) Failures(ctx context.Context, limit int) (failures []jobs.Run, err error) {
	err = s.do(ctx, func(time.Time) error {
		latest := slices.Clone(s.failures)
		slices.Reverse(latest)
		failures = merge.Failures(limit, latest)
		return nil
	})
	return failures, err
}
