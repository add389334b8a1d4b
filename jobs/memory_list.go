package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// isKnown reports whether any session has ever registered the job.
func (j *memoryJob) isKnown() bool { return len(j.spec.defs) > 0 }

// is reports whether a job is in a state.
func (j *memoryJob) is(state JobState) bool {
	switch state {
	case StateAny, StateHandler:
		return true
	case StateFailing:
		return len(j.runs) > 0 && j.runs[len(j.runs)-1].Failed()
	case StatePaused:
		return j.paused != nil
	case StateMissed:
		return j.missed > 0
	case StateNever:
		return len(j.runs) == 0
	}
	return false
}

// sorted returns the names of all that is in jobs. It needs mu.
func (s *memoryStore) sorted() []string {
	if len(s.names) != len(s.jobs) { // they only become more, but for a flush
		s.names = slices.Sorted(maps.Keys(s.jobs))
	}
	return s.names
}

// inState are the names of the jobs in a state. It needs mu.
func (s *memoryStore) inState(state JobState, yield func(name string, j *memoryJob)) {
	for _, name := range s.sorted() {
		j := s.jobs[name]
		if j.isKnown() && strings.HasPrefix(name, handlerPrefix) == (state == StateHandler) && j.is(state) {
			yield(name, j)
		}
	}
}

func (s *memoryStore) List(ctx context.Context, q ListQuery) (page ListPage, err error) {
	err = s.do(ctx, func(time.Time) error {
		var all []string
		before := 0
		s.inState(q.State, func(name string, j *memoryJob) {
			switch {
			case q.From != "" && q.Back && name >= q.From:
			case q.From != "" && !q.Back && name <= q.From:
				before++
			case !q.searches() || q.finds(j.spec.text(), j.spec.seen):
				all = append(all, name)
			}
		})
		page = cutPage(q, all, before)
		return nil
	})
	return page, err
}

// cutPage makes a page of the names that are asked for; before of them come before these, if they are counted.
func cutPage(q ListQuery, all []string, before int) (page ListPage) {
	n := min(len(all), max(q.Limit, 0))
	page.More, page.Before = n < len(all), before
	if q.Back {
		page.Before += len(all) - n
		all = all[len(all)-n:]
	}
	if page.Jobs = slices.Clone(all[:n]); q.searches() {
		page.Before = -1
	}
	return page
}

// text is what a search looks into.
func (m *memorySpec) text() string {
	top := int64(0)
	for _, o := range m.offers {
		top = max(top, o.version)
	}
	at := slices.IndexFunc(m.defs, func(d VersionedDef) bool { return d.Version == top })
	return SearchText(&m.defs[max(at, 0)].Definition)
}

func (s *memoryStore) Count(ctx context.Context, unseenSince time.Time) (n JobCount, err error) {
	err = s.do(ctx, func(time.Time) error {
		s.inState(StateAny, func(_ string, j *memoryJob) {
			n.Jobs++
			n.Ticks += j.missed
			for state, count := range map[JobState]*int{
				StateFailing: &n.Failing, StatePaused: &n.Paused, StateMissed: &n.Missed, StateNever: &n.Never,
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

func (s *memoryStore) Latest(ctx context.Context, limit int) (latest []LatestRecord, err error) {
	err = s.do(ctx, func(time.Time) error {
		for name, j := range s.jobs {
			if j.isKnown() && len(j.runs) > 0 {
				latest = append(latest, LatestRecord{name, j.recorded})
			}
		}
		return nil
	})
	return latestRecords(limit, latest), err
}

// latestRecords sorts and cuts what several parts of a store say.
func latestRecords(limit int, all []LatestRecord) []LatestRecord {
	slices.SortFunc(all, func(a, b LatestRecord) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Job, b.Job)) })
	return all[:max(0, min(len(all), limit))]
}

// missedCount is how many ticks a job has missed.
type missedCount struct {
	job   string
	ticks int64
}

func (s *memoryStore) MostMissed(ctx context.Context, limit int) (jobs []string, err error) {
	var all []missedCount
	err = s.do(ctx, func(time.Time) error {
		s.inState(StateMissed, func(name string, j *memoryJob) { all = append(all, missedCount{name, j.missed}) })
		return nil
	})
	return mostMissed(limit, all), err
}

// mostMissed sorts and cuts what several parts of a store say.
func mostMissed(limit int, all []missedCount) (jobs []string) {
	slices.SortFunc(all, func(a, b missedCount) int {
		return cmp.Or(cmp.Compare(b.ticks, a.ticks),
			cmp.Compare(a.job, b.job))
	})
	for _, m := range all[:max(0, min(len(all), limit))] {
		jobs = append(jobs, m.job)
	}
	return jobs
}
