package memstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

func (s *Store) Put(ctx context.Context, o jobs.OneOff) error {
	return s.do(ctx, func(now time.Time) error {
		maps.DeleteFunc(s.past, func(_ string, at time.Time) bool { return now.Sub(at) > jobs.OneOffRetention })
		if _, waits := s.waiting[o.ID]; waits || !s.past[o.ID].IsZero() {
			return nil
		}
		o.At, o.Payload = o.At.UTC().Truncate(time.Microsecond), slices.Clone(o.Payload)
		s.waiting[o.ID] = o
		return nil
	})
}

func (s *Store) Withdraw(ctx context.Context, id string) error {
	return s.do(ctx, func(time.Time) error {
		if _, waits := s.waiting[id]; !waits {
			return jobs.ErrGone
		}
		delete(s.waiting, id)
		return nil
	})
}

func (s *Store) Waiting(ctx context.Context, limit int) (all []jobs.OneOff, err error) {
	err = s.do(ctx, func(time.Time) error {
		all = slices.SortedFunc(maps.Values(s.waiting), jobs.OneOff.Compare)
		all = all[:min(len(all), max(limit, 0))]
		return nil
	})
	return all, err
}
