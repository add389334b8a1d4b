package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/merge"
)

// isKnown reports whether any session has ever registered the job.
func (j *job) isKnown() bool { return len(j.spec.defs) > 0 }

// is reports whether a job is in a state.
func (j *job) is(state jobs.JobState) bool {
	switch state {
	case jobs.StateAny, jobs.StateHandler:
		return true
	case jobs.StateFailing:
		return len(j.runs) > 0 && j.runs[len(j.runs)-1].Failed()
	case jobs.StatePaused:
		return j.paused != nil
	case jobs.StateMissed:
		return j.missed > 0
	case jobs.StateNever:
		return len(j.runs) == 0
	}
	return false
}

// sorted returns the names of all that is in jobs. It needs mu.
func (s *Store) sorted() []string {
	if len(s.names) != len(s.jobs) { // they only become more, but for a flush
		s.names = slices.Sorted(maps.Keys(s.jobs))
	}
	return s.names
}

// inState are the names of the jobs in a state. It needs mu.
func (s *Store) inState(state jobs.JobState, yield func(name string, j *job)) {
	for _, name := range s.sorted() {
		j := s.jobs[name]
		if j.isKnown() && strings.HasPrefix(name, jobs.HandlerPrefix) == (state == jobs.StateHandler) && j.is(state) {
			yield(name, j)
		}
	}
}

func (s *Store) List(ctx context.Context, q jobs.ListQuery) (page jobs.ListPage, err error) {
	err = s.do(ctx, func(time.Time) error {
		var all []string
		before := 0
		s.inState(q.State, func(name string, j *job) {
			switch {
			case q.From != "" && q.Back && name >= q.From:
			case q.From != "" && !q.Back && name <= q.From:
				before++
			case !q.Searches() || q.Finds(j.spec.text(), j.spec.seen):
				all = append(all, name)
			}
		})
		page = q.Page(all, before)
		return nil
	})
	return page, err
}

// text is what a search looks into.
func (m *spec) text() string {
	top := int64(0)
	for _, o := range m.offers {
		top = max(top, o.version)
	}
	at := slices.IndexFunc(m.defs, func(d jobs.VersionedDef) bool { return d.Version == top })
	return jobs.SearchText(&m.defs[max(at, 0)].Definition)
}

func (s *Store) Count(ctx context.Context, unseenSince time.Time) (n jobs.JobCount, err error) {
	err = s.do(ctx, func(time.Time) error {
		s.inState(jobs.StateAny, func(_ string, j *job) {
			n.Jobs++
			n.Ticks += j.missed
			for state, count := range map[jobs.JobState]*int{
				jobs.StateFailing: &n.Failing, jobs.StatePaused: &n.Paused, jobs.StateMissed: &n.Missed, jobs.StateNever: &n.Never,
			} {
				if j.is(state) {
					*count++
				}
			}
			if j.spec.seen.Before(unseenSince) {
				n.Unseen++
			}
		})
		return nil
	})
	return n, err
}

func (s *Store) Latest(ctx context.Context, limit int) (latest []jobs.LatestRecord, err error) {
	err = s.do(ctx, func(time.Time) error {
		for name, j := range s.jobs {
			if j.isKnown() && len(j.runs) > 0 {
				latest = append(latest, jobs.LatestRecord{Job: name, At: j.recorded})
			}
		}
		return nil
	})
	return merge.Latest(limit, latest), err
}

func (s *Store) MostMissed(ctx context.Context, limit int) (names []string, err error) {
	var all []merge.Missed
	err = s.do(ctx, func(time.Time) error {
		s.inState(jobs.StateMissed, func(name string, j *job) { all = append(all, merge.Missed{Job: name, Ticks: j.missed}) })
		return nil
	})
	return merge.MostMissed(limit, all), err
}
