package merge

import (
	"cmp"
	"slices"

	"github.com/lockgen/lockgen/jobs"
)

// Failures merges lists of failures.
func Failures(limit int, lists ...[]jobs.Run) []jobs.Run {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b jobs.Run) int { return b.Ended.Compare(a.Ended) })
	return all[:max(0, min(len(all), limit))]
}

// Latest merges the answers of several parts of a store: it sorts and cuts them.
func Latest(limit int, all []jobs.LatestRecord) []jobs.LatestRecord {
	slices.SortFunc(all, func(a, b jobs.LatestRecord) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Job, b.Job)) })
	return all[:max(0, min(len(all), limit))]
}

// Missed is how many ticks a job has missed.
type Missed struct {
	Job   string
	Ticks int64
}

// MostMissed merges the answers of several parts of a store: it sorts and cuts them.
func MostMissed(limit int, all []Missed) (names []string) {
	slices.SortFunc(all, func(a, b Missed) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks),
			cmp.Compare(a.Job, b.Job))
	})
	for _, m := range all[:max(0, min(len(all), limit))] {
		names = append(names, m.Job)
	}
	return names
}
