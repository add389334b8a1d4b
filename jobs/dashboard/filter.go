package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

const (
	// runsShown is how many records of a job its page reads.
	runsShown = 100
	// runsSearched is how many it reads to find those that are asked for.
	runsSearched = 1000
)

// runFilter is which runs are asked for. The zero value asks for all.
type runFilter struct {
	job, outcome, node string
	from, until        time.Time
}

// inputTime is how times are shown in fields.
const inputTime = "2006-01-02 15:04:05"

func (q *request) runFilter() runFilter {
	params := q.r.URL.Query()
	f := runFilter{job: strings.TrimSpace(params.Get("job")), outcome: params.Get("outcome"), node: params.Get("node")}
	f.from, f.until = q.fieldTime("from"), q.fieldTime("until")
	return f
}

// fieldTime reads the time in a field. The page says which it could not read.
func (q *request) fieldTime(field string) time.Time {
	text := strings.TrimSpace(q.r.URL.Query().Get(field))
	t := q.parseTime(text)
	if text != "" && t.IsZero() {
		q.unread = append(q.unread, &problem{
			Title:  "Not understood: " + quote(text),
			Text:   "This is no time, so the list is shown as if the field " + quote(field) + " were empty.",
			Advice: "Write such as 2026-03-28 14:00, 2026-03-28, 14:30 of today, all in UTC, or 2026-03-28T14:00:00+01:00.",
		})
	}
	return t
}

// parseTime reads a time of a field, in UTC if it says no zone, without a date one of today. It returns the zero time for
// what is none.
func (q *request) parseTime(text string) time.Time {
	text = strings.TrimSpace(strings.Replace(text, "T", " ", 1))
	for _, layout := range []string{inputTime, "2006-01-02 15:04", time.DateOnly, inputTime + "Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return q.now.UTC().Truncate(24 * time.Hour).Add(t.Sub(t.Truncate(24 * time.Hour)))
		}
	}
	return time.Time{}
}

func (f runFilter) any() bool { return f != runFilter{} }

func (f runFilter) depth() int {
	if f.any() {
		return runsSearched
	}
	return runsShown
}

// failedOutcome asks for all outcomes that nobody wants.
const failedOutcome = "failed"

func (f runFilter) holds(r jobs.Run) bool {
	at := r.Started
	if at.IsZero() {
		at = r.Tick
	}
	switch {
	case f.job != "" && !strings.Contains(strings.ToLower(r.Job), strings.ToLower(f.job)):
		return false
	case f.node != "" && r.Node != f.node:
		return false
	case f.outcome == failedOutcome && !r.Failed():
		return false
	case f.outcome != "" && f.outcome != failedOutcome && string(r.Outcome) != f.outcome:
		return false
	case !f.from.IsZero() && at.Before(f.from):
		return false
	}
	return f.until.IsZero() || at.Before(f.until)
}

// runList is a list of runs with the form that chooses them.
type runList struct {
	Rows            []runRow
	Jobs            bool // they are of several jobs
	Page, Name, Job string
	Outcomes, Nodes []option
	From, Until     string
	Filtered        bool
	All             string // address of the list without choice
	Pager           pager
	Since           moment // records before are not complete
	Searched        int
}

type option struct {
	Value, Label string
	Chosen       bool
}

// outcomeOptions are what can be asked for.
var outcomeOptions = []option{
	{"", "any outcome", false}, {failedOutcome, "failed in any way", false}, {"ok", "ok", false},
	{"error", "error", false}, {"panic", "panic", false}, {"timeout", "timeout", false}, {"lost", "lost", false},
	{"skipped", "skipped", false}, {"cancelled", "cancelled", false},
}

// runList shows those of the runs that are asked for, the newest first.
func (q *request) runList(f runFilter, runs []jobs.Run, manyJobs bool) runList {
	params := q.r.URL.Query()
	name := params.Get("name")
	l := runList{Jobs: manyJobs, Page: q.name, Name: name, Job: f.job, Filtered: f.any(), Searched: len(runs),
		All: address(q.name, "name", name), From: params.Get("from"), Until: params.Get("until")}
	for _, o := range outcomeOptions {
		o.Chosen = o.Value == f.outcome
		l.Outcomes = append(l.Outcomes, o)
	}
	l.Nodes = nodeOptions(runs, f.node)
	if !f.from.IsZero() {
		l.From = f.from.Format(inputTime)
	}
	if !f.until.IsZero() {
		l.Until = f.until.Format(inputTime)
	}
	var found []jobs.Run
	for _, r := range runs {
		if f.holds(r) {
			found = append(found, r)
		}
	}
	l.Pager = q.newPager(len(found))
	l.Rows = q.runRows(found[l.Pager.First-1 : max(l.Pager.First-1, l.Pager.Last)])
	return l
}

// nodeOptions are the nodes that have runs, and the one that is asked for.
func nodeOptions(runs []jobs.Run, chosen string) []option {
	names := []string{}
	if chosen != "" {
		names = append(names, chosen)
	}
	for _, r := range runs {
		if r.Node != "" {
			names = append(names, r.Node)
		}
	}
	slices.Sort(names)
	options := []option{{"", "any node", chosen == ""}}
	for _, name := range slices.Compact(names) {
		options = append(options, option{name, name, name == chosen})
	}
	return options
}

// runsPage lists the newest runs of all jobs.
func (q *request) runsPage() (*view, error) {
	rec, err := q.recent()
	if err != nil {
		return nil, err
	}
	list := q.runList(q.runFilter(), rec.Runs, true)
	list.Since = q.moment(rec.From)
	return &view{template: "runs", Title: "Runs", Menu: "runs", Live: true, Data: list}, nil
}
