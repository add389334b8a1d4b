package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Searches reports whether names have to be looked at one by one.
func Searches(q *jobs.ListQuery) bool { return len(q.Search) > 0 || !q.UnseenSince.IsZero() }

// Finds reports whether a job is asked for, of those in the state.
func Finds(q *jobs.ListQuery, text string, seen time.Time) bool {
	if !q.UnseenSince.IsZero() && !seen.Before(q.UnseenSince) {
		return false
	}
	return !slices.ContainsFunc(q.Search, func(word string) bool { return !strings.Contains(text, word) })
}

// CutPage makes a page of names in the order of reading, of which more than the limit tells that there are others.
// before counts the jobs of the state before where the reading begins.
func CutPage(q *jobs.ListQuery, names []string, before int) (page jobs.ListPage) {
	n := min(len(names), max(q.Limit, 0))
	page.More, page.Before, page.Jobs = n < len(names), before, slices.Clone(names[:n])
	if q.Back {
		page.Before -= n
		slices.Reverse(page.Jobs)
	}
	if Searches(q) {
		page.Before = -1
	}
	return page
}

// ByName sorts nodes.
func ByName(a, b jobs.Node) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), a.Started.Compare(b.Started))
}

// Latest returns the failures that ended last, of those that were recorded last.
func Latest(failures []jobs.Run, limit int) []jobs.Run {
	slices.SortStableFunc(failures, func(a, b jobs.Run) int { return b.Ended.Compare(a.Ended) })
	return failures[:max(0, min(len(failures), limit))]
}
