package dashboard

import (
	"slices"
	"strings"

	"github.com/lockgen/lockgen/jobs"
)

// runRow is a run as tables and its own page show it.
type runRow struct {
	ID, Job, Node, Trigger, Author string
	Link                           jobLink
	Tick, Claimed, Started, Ended  moment
	Took                           string
	Outcome                        badge
	Fence                          fence
	Attempt                        int
	Again                          bool   // the same tick can be run again
	Summary                        string // in a line: why it was not run, or how it failed
	Running                        bool
}

func (q *request) runRow(r jobs.Run) runRow {
	row := runRow{
		ID: r.ID, Job: r.Job, Link: q.link(r.Job), Node: r.Node, Trigger: r.Trigger, Author: r.Author,
		Tick: q.moment(r.Tick), Claimed: q.moment(r.Claimed), Started: q.moment(r.Started),
		Ended: q.moment(r.Ended), Took: q.took(r),
		Outcome: outcomeBadge(r), Fence: fence(r.Fence), Attempt: r.Attempt, Running: r.Outcome == "",
		Again: mayRunAgain(r),
	}
	row.Summary = joined(q.several(r), firstLine(q.text("reason", r.Reason)), firstLine(q.text("error", r.Error)))
	return row
}

// mayRunAgain reports whether an operator is offered to run the tick of a run again: it ended, and not well.
func mayRunAgain(r jobs.Run) bool {
	return r.Ticks < 2 && (r.Failed() || r.Outcome == jobs.OutcomeCancelled || r.Outcome == jobs.OutcomeSkipped)
}

// several says for how many ticks a record stands; empty if for one.
func (q *request) several(r jobs.Run) string {
	if r.Ticks < 2 {
		return ""
	}
	return number(int(r.Ticks)) + " ticks since " + q.moment(r.First).Stamp
}

// joined puts a colon between the texts that say something.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ": ")
}

func (q *request) runRows(runs []jobs.Run) []runRow {
	rows := make([]runRow, 0, len(runs))
	for _, r := range runs {
		rows = append(rows, q.runRow(r))
	}
	return rows
}

// took is how long a run took, or has taken until now; empty if it has not begun.
func (q *request) took(r jobs.Run) string {
	switch {
	case r.Started.IsZero():
		return ""
	case r.Outcome == "":
		return duration(max(0, q.now.Sub(r.Started)))
	}
	return duration(max(0, r.Ended.Sub(r.Started)))
}

// jobRow is a job as tables show it.
type jobRow struct {
	Name, Words, Spec, Zone string
	Link                    jobLink
	Next                    moment
	Badges                  []badge // what is out of the ordinary
	Program                 string  // that the job belongs to; empty where all belong to one
	Version                 string
	Orphaned                bool     // no node has the job
	Nodes                   []string // that have it
	Last                    *runRow
	Paused                  *pauseRow
	Missed                  int64
	Holder                  string // of the job's lock
	Fence                   fence
}

type pauseRow struct {
	Author, Reason string
	At             moment
}

func (q *request) jobRow(st jobs.Status) jobRow {
	p := q.d.plans.of(st.Info)
	row := jobRow{Name: st.Job.Name, Link: q.link(st.Job.Name), Missed: st.Missed}
	row.Words, row.Spec, row.Zone = p.words, p.spec, p.zoneName
	row.Program, row.Version, row.Orphaned, row.Nodes = st.Program, st.Version, st.Orphaned, st.Nodes
	row.Next = q.momentIn(st.Next, p.zone)
	if st.Orphaned {
		row.Badges = append(row.Badges, badge{kindWarn, "no node has it"})
	}
	if st.Last != nil {
		last := q.runRow(*st.Last)
		row.Last = &last
	}
	if p := st.Paused; p != nil {
		row.Paused = &pauseRow{Author: p.Author, Reason: q.text("reason", p.Reason), At: q.moment(p.At)}
		row.Badges = append(row.Badges, badge{kindWarn, "paused"})
	}
	for _, r := range st.Running {
		row.Badges = append(row.Badges, outcomeBadge(r))
		if row.Holder == "" && r.Fence > 0 {
			row.Holder, row.Fence = r.Node, fence(r.Fence)
		}
		if len(row.Badges) > 3 {
			break
		}
	}
	return row
}
