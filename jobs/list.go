package jobs

import (
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec/words"
)

// JobState selects jobs in a list.
type JobState string

// The states of jobs. A job can be in several.
const (
	StateAny      JobState = ""
	StateFailing  JobState = "failing"  // the latest record is a failure, see [Run.Failed]
	StatePaused   JobState = "paused"   // see [Scheduler.Pause]
	StateMissed   JobState = "missed"   // it has missed ticks since the store knows it
	StateNever    JobState = "never"    // it has no record
	StateRunning  JobState = "running"  // a run is in flight; a Store does not list by it
	StateOrphaned JobState = "orphaned" // no node has it; a Store does not list by it, see ListQuery.UnseenSince
	StateHandler  JobState = "handler"  // handlers of one-off jobs, in place of jobs
)

// ListQuery asks a [Store] for a page of the names of jobs, which are sorted byte by byte.
type ListQuery struct {
	State JobState
	// Search has words in lower case. Each of them must be part of the [SearchText] of the job's definition in force.
	Search []string
	// UnseenSince asks for the jobs that no session has registered since then. The zero time asks for all.
	UnseenSince time.Time
	From        string // names after this one, which need not exist; "": from the first one on
	Back        bool   // list the last names before From instead; with From "": the last names of all
	Limit       int
}

// Searches reports whether the query must look at the names one by one.
func (q *ListQuery) Searches() bool { return len(q.Search) > 0 || !q.UnseenSince.IsZero() }

// Finds reports whether the query selects a job that is in the state. It decides by the job's [SearchText] and by when
// a session last registered it.
func (q *ListQuery) Finds(text string, seen time.Time) bool {
	if !q.UnseenSince.IsZero() && !seen.Before(q.UnseenSince) {
		return false
	}
	return !slices.ContainsFunc(q.Search, func(word string) bool { return !strings.Contains(text, word) })
}

// Page makes a page of the selected names, which are sorted: those after From, or before it if Back is set. before is
// the number of names of the state that come before them.
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
	// Before is how many jobs of the state come before the page. It is -1 if the query selects only some of them, since
	// these are not counted.
	Before int
}

// JobCount is how many jobs there are, without handlers.
type JobCount struct {
	Jobs, Failing, Paused, Missed, Never int

	Unseen int   // since the time that was asked for
	Ticks  int64 // that were missed by jobs that are still known
}

// LatestRecord is the time of a job's latest record.
type LatestRecord struct {
	Job string
	At  time.Time
}

// SearchText is the text that a search for a job looks into: its name, its program, its timing as written, and its
// timing in words.
func SearchText(d *Definition) string {
	text := []string{d.Job, d.Program, d.Spec, "", d.Zone}
	if d.Spec != "" {
		text[3] = words.Of(d.Spec)
	}
	return strings.ToLower(strings.Join(text, "\n"))
}
