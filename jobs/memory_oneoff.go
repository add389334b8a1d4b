package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// oneOffRetention is how long the ID of a one-off job is remembered after its time.
const oneOffRetention = 24 * time.Hour

func (s *memoryStore) Put(ctx context.Context, o OneOff) error {
	return s.do(ctx, func(now time.Time) error {
		maps.DeleteFunc(s.past, func(_ string, at time.Time) bool { return now.Sub(at) > oneOffRetention })
		if _, waits := s.waiting[o.ID]; waits || !s.past[o.ID].IsZero() {
			return nil
		}
		o.At, o.Payload = o.At.UTC().Truncate(time.Microsecond), slices.Clone(o.Payload)
		s.waiting[o.ID] = o
		return nil
	})
}

func (s *memoryStore) Withdraw(ctx context.Context, id string) error {
	return s.do(ctx, func(time.Time) error {
		if _, waits := s.waiting[id]; !waits {
			return ErrGone
		}
		delete(s.waiting, id)
		return nil
	})
}

func (s *memoryStore) Waiting(ctx context.Context, limit int) (all []OneOff, err error) {
	err = s.do(ctx, func(time.Time) error {
		all = slices.SortedFunc(maps.Values(s.waiting), byTime)
		all = all[:min(len(all), max(limit, 0))]
		return nil
	})
	return all, err
}

func byTime(a, b OneOff) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) }
