package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// sorted returns the names of all that is in jobs. It needs mu.
func (s *Store) sorted() []string {
	if len(s.names) != len(s.state.Jobs) { // names are only added, except by a flush
		s.names = slices.Sorted(maps.Keys(s.state.Jobs))
	}
	return s.names
}

// inState are the names of the jobs in a state. It needs mu.
func (s *Store) inState(state jobs.JobState, yield func(name string, j *ledger.Job)) {
	for _, name := range s.sorted() {
		j := s.state.Jobs[name]
		if j.Spec.IsKnown() && strings.HasPrefix(name, jobs.HandlerPrefix) == (state == jobs.StateHandler) && j.Is(state) {
			yield(name, j)
		}
	}
}

// List implements [jobs.Store].
func (s *Store) List(ctx context.Context, q jobs.ListQuery) (page jobs.ListPage, err error) {
	err = s.do(ctx, func(time.Time) error {
		var all []string
		before := 0
		s.inState(q.State, func(name string, j *ledger.Job) {
			switch {
			case q.From != "" && q.Back && name >= q.From:
			case q.From != "" && !q.Back && name <= q.From:
				before++
			case !q.Searches() || q.Finds(j.Spec.SearchText(), j.Spec.Seen):
				all = append(all, name)
			}
		})
		page = q.Page(all, before)
		return nil
	})
	return page, err
}

// Count implements [jobs.Store].
func (s *Store) Count(ctx context.Context, unseenSince time.Time) (n jobs.JobCount, err error) {
	err = s.do(ctx, func(time.Time) error {
		s.inState(jobs.StateAny, func(_ string, j *ledger.Job) {
			n.Jobs++
			n.Ticks += j.Missed
			for state, count := range map[jobs.JobState]*int{
				jobs.StateFailing: &n.Failing, jobs.StatePaused: &n.Paused, jobs.StateMissed: &n.Missed, jobs.StateNever: &n.Never,
			} {
				if j.Is(state) {
					*count++
				}
			}
			if j.Spec.Seen.Before(unseenSince) {
				n.Unseen++
			}
		})
		return nil
	})
	return n, err
}

// Latest implements [jobs.Store].
func (s *Store) Latest(ctx context.Context, limit int) (latest []jobs.LatestRecord, err error) {
	err = s.do(ctx, func(time.Time) error {
		for name, j := range s.state.Jobs {
			if j.Spec.IsKnown() && j.Kept > 0 {
				latest = append(latest, jobs.LatestRecord{Job: name, At: j.Recorded})
			}
		}
		return nil
	})
	return merge.Latest(limit, latest), err
}

// MostMissed implements [jobs.Store].
func (s *Store) MostMissed(ctx context.Context, limit int) (names []string, err error) {
	var all []merge.Missed
	err = s.do(ctx, func(time.Time) error {
		s.inState(jobs.StateMissed, func(name string, j *ledger.Job) {
			all = append(all, merge.Missed{Job: name, Ticks: j.Missed})
		})
		return nil
	})
	return merge.MostMissed(limit, all), err
}
