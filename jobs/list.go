package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec/words"
)

// JobState is which jobs are asked for.
type JobState string

// The states of jobs. A job can be in several.
const (
	StateAny      JobState = ""
	StateFailing  JobState = "failing"  // the record that was kept last says of a failure, see [Run.Failed]
	StatePaused   JobState = "paused"   // see [Scheduler.Pause]
	StateMissed   JobState = "missed"   // ticks were missed since the job is known
	StateNever    JobState = "never"    // it has no record
	StateRunning  JobState = "running"  // a run is in flight; a Store does not list by it
	StateOrphaned JobState = "orphaned" // no node has it; a Store does not list by it, see ListQuery.UnseenSince
	StateHandler  JobState = "handler"  // handlers of one-off jobs, in place of jobs
)

// ListQuery asks a [Store] for a page of the names of jobs, which are sorted byte by byte.
type ListQuery struct {
	State JobState
	// Search has words in lower case. Each of them must be part of what [SearchText] says of the job's definition in
	// force.
	Search []string
	// UnseenSince asks for the jobs that no session has registered since then. The zero time asks for all.
	UnseenSince time.Time
	From        string // names after this one, which need not exist; "": from the first one on
	Back        bool   // names before From in its place, the last ones of these; "": those at the end
	Limit       int
}

// Searches reports whether names have to be looked at one by one.
func (q *ListQuery) Searches() bool { return len(q.Search) > 0 || !q.UnseenSince.IsZero() }

// Finds reports whether a job is asked for, of those in the state: by its [SearchText], and by when a session has
// registered it last.
func (q *ListQuery) Finds(text string, seen time.Time) bool {
	if !q.UnseenSince.IsZero() && !seen.Before(q.UnseenSince) {
		return false
	}
	return !slices.ContainsFunc(q.Search, func(word string) bool { return !strings.Contains(text, word) })
}

// Page makes a page of all names that are asked for, sorted: those that come after From, or before it if Back is set.
// before is how many names of the state come before them.
func (q *ListQuery) Page(all []string, before int) (page ListPage) {
	n := min(len(all), max(q.Limit, 0))
	page.More, page.Before = n < len(all), before
	if q.Back {
		page.Before += len(all) - n
		all = all[len(all)-n:]
	}
	if page.Jobs = slices.Clone(all[:n]); q.Searches() {
		page.Before = -1
	}
	return page
}

// ListPage is a page of names.
type ListPage struct {
	Jobs []string // sorted
	More bool     // there are others after them, or before them if the query went back
	// Before is how many jobs of the state come before the page; -1 if only some of them are asked for, which nobody
	// counts.
	Before int
}

// JobCount is how many jobs there are, without handlers.
type JobCount struct {
	Jobs, Failing, Paused, Missed, Never int

	Unseen int   // since the time that was asked for
	Ticks  int64 // that were missed by jobs that are still known
}

// LatestRecord is when the last record of a job was kept.
type LatestRecord struct {
	Job string
	At  time.Time
}

// SearchText is what a search for a job looks into: its name, its program, and its timing as it is written and in
// words.
func SearchText(d *Definition) string {
	text := []string{d.Job, d.Program, d.Spec, "", d.Zone}
	if d.Spec != "" {
		text[3] = words.Of(d.Spec)
	}
	return strings.ToLower(strings.Join(text, "\n"))
}
