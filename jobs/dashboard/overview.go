package dashboard

import (
	"context"
	"html/template"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

const (
	// silentAfter is how long a node may say nothing: some of its signs of life, of which it gives one in a second, and
	// longer than it takes until others run what it ran.
	silentAfter = 8 * time.Second
	// offsetWarning is from which on a clock is called wrong. Schedules do not mind; people who compare logs do.
	offsetWarning = time.Second
	// overviewRows is how long the tables of the overview may get.
	overviewRows = 10
)

type overviewData struct {
	Figures  []figure
	Nodes    []nodeRow
	Running  []runRow
	Failures []runRow
	Missed   []jobRow
	Soon     []jobRow
	Timeline template.HTML
	Charts   []*chart
	Since    moment // from when on the charts are
	More     struct{ Running, Failures, Missed int }
	TooMany  bool // jobs to know what comes next
}

// figure is a number at the head of the overview, and where to see what it counts.
type figure struct {
	Label, Value, Of, Kind, Link string
}

type nodeRow struct {
	Name      string
	Program   string
	Version   string
	Here      bool // it serves this page
	State     badge
	Started   moment
	Heartbeat moment
	Offset    string
	OffsetBad bool
	Jobs      int
	Running   int
}

func (q *request) overview() (*view, error) {
	s, err := q.overviewState()
	if err != nil {
		return nil, err
	}
	v := &view{template: "overview", Title: "Overview", Menu: "overview", Live: true}
	if err := q.d.jobs.Err(); err != nil && q.silence == nil {
		v.Problems = []*problem{q.nodeProblem(err)}
	}
	v.Data = q.overviewOf(s)
	return v, nil
}

// overviewState is what the overview shows.
type overviewState struct {
	*totals
	*overviewDetails
	recent  *recent
	soon    []jobs.Status // in no order
	tooMany bool          // jobs to read all of them
}

type overviewDetails struct {
	failures []jobs.Run    // the newest first
	missed   []jobs.Status // those that have missed most first
}

// mostFailures is how many failures the overview knows of.
const mostFailures = 200

// overviewState asks for what the overview shows, at once as far as it can. What comes next is known of few jobs only: of many,
// the first ones are due in a moment. How many there are may be known from before.
func (q *request) overviewState() (s *overviewState, err error) {
	s = &overviewState{}
	soon := func() error {
		page, err := q.jobPage(jobs.JobQuery{Limit: sortable})
		s.soon = page.Jobs
		return err
	}
	before, known := q.d.known.last(totalsQuestion).value.(*totals)
	early := known && before.few()
	questions := []func() error{
		func() (err error) {
			if s.totals, err = q.totals(); err == nil && s.few() && !early {
				err = soon()
			}
			return err
		},
		func() (err error) { s.recent, err = q.recent(); return err },
		func() (err error) { s.overviewDetails, err = q.overviewDetails(); return err },
	}
	if early {
		questions = append(questions, soon)
	}
	if err = inParallel(questions...); err != nil {
		return nil, err
	}
	if s.tooMany = !s.few(); s.tooMany {
		s.soon = nil
	}
	return s, nil
}

func (q *request) overviewDetails() (*overviewDetails, error) {
	return ask(q, "what went wrong", "details", func(ctx context.Context) (*overviewDetails, error) {
		o := &overviewDetails{}
		err := inParallel(
			func() (err error) { o.failures, err = q.d.jobs.Failures(ctx, mostFailures); return err },
			func() (err error) { o.missed, err = q.d.jobs.MostMissed(ctx, overviewRows); return err },
		)
		return o, err
	})
}

// nodeProblem is for a node that cannot work, while the pages it serves are good.
func (q *request) nodeProblem(err error) *problem {
	p := q.storeProblem("due ticks by this node", err)
	p.Status, p.Title = 0, q.d.locks.Node()+" has trouble with the store"
	p.Advice = "What is due is left to other nodes meanwhile, or decided later by the misfire policy of each job."
	return p
}

func (q *request) overviewOf(s *overviewState) overviewData {
	data := overviewData{TooMany: s.tooMany}
	for _, n := range withoutReplaced(s.Nodes) {
		data.Nodes = append(data.Nodes, q.nodeRow(n))
	}
	data.Running, data.More.Running = cut(q.runRows(s.Running))
	data.Failures, data.More.Failures = cut(q.runRows(s.failures))
	soon := where(s.soon, func(st jobs.Status) bool { return !st.Next.IsZero() && st.Paused == nil })
	slices.SortStableFunc(soon, func(a, b jobs.Status) int { return a.Next.Compare(b.Next) })
	data.Missed, data.Soon = q.someJobs(s.missed), q.someJobs(soon)
	data.More.Missed = s.Count.Missed - len(data.Missed)
	q.draw(&data, s)
	data.Figures = figures(data.Nodes, s.totals)
	return data
}

// chartSpan is how much of the past the charts of the overview show, if the records go back so far.
const chartSpan = time.Hour

// draw adds the timeline and the charts.
func (q *request) draw(data *overviewData, s *overviewState) {
	later := func(span time.Duration) time.Time {
		if from := q.now.Add(-span); from.After(s.recent.From) {
			return from
		}
		return s.recent.From
	}
	data.Timeline = q.timeline(timelineOf{
		runs: s.recent.Runs, running: s.Running, nodes: s.Nodes, from: later(timelineSpan), most: timelineBars,
		manyJobs: true,
	})
	from := later(chartSpan)
	if first := oldest(s.recent.Runs); first.After(from) {
		from = first
	}
	data.Charts, data.Since = q.chartsOf(s.recent.Runs, from), q.moment(from)
}

// figures are the numbers at the head of the overview. The states link to the lists that they count.
func figures(nodes []nodeRow, t *totals) []figure {
	alive := 0
	for _, n := range nodes {
		if n.State.Kind != kindBad {
			alive++
		}
	}
	missed, paused, failing, running := int(t.Count.Ticks), t.Count.Paused, t.Count.Failing, len(t.Running)
	return []figure{
		{Label: "nodes", Value: number(alive), Of: number(len(nodes)), Kind: kindIf(alive < len(nodes), kindBad),
			Link: "#nodes"},
		{Label: "jobs", Value: number(t.Count.Jobs), Link: address("jobs")},
		{Label: "running now", Value: number(running), Kind: kindIf(running > 0, kindBusy),
			Link: address("jobs", "state", "running")},
		{Label: "failing", Value: number(failing), Kind: kindIf(failing > 0, kindBad),
			Link: address("jobs", "state", "failing")},
		{Label: "paused", Value: number(paused), Kind: kindIf(paused > 0, kindWarn),
			Link: address("jobs", "state", "paused")},
		{Label: "ticks missed", Value: number(missed), Kind: kindIf(missed > 0, kindWarn),
			Link: address("jobs", "state", "missed")},
	}
}

// where is the jobs that something holds for.
func where(all []jobs.Status, holds func(jobs.Status) bool) (found []jobs.Status) {
	for _, st := range all {
		if holds(st) {
			found = append(found, st)
		}
	}
	return found
}

// withoutReplaced leaves out those that ended without a word and were started again under the same name.
func withoutReplaced(nodes []jobs.Node) []jobs.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(old jobs.Node) bool {
		return slices.ContainsFunc(nodes, func(n jobs.Node) bool {
			return n.Name == old.Name && n.Started.After(old.Heartbeat)
		})
	})
}

func (q *request) nodeRow(n jobs.Node) nodeRow {
	row := nodeRow{
		Name: n.Name, Program: n.Program, Version: n.Version, Here: n.Name == q.d.locks.Node(),
		State: badge{kindGood, "alive"}, Started: q.moment(n.Started),
		Heartbeat: q.moment(n.Heartbeat), Jobs: n.Jobs, Running: n.Running,
		Offset: offset(n.ClockOffset), OffsetBad: n.ClockOffset.Abs() >= offsetWarning,
	}
	switch silent := q.now.Sub(n.Heartbeat); {
	case silent > silentAfter:
		row.State = badge{kindBad, "silent"}
	case n.Draining:
		row.State = badge{kindWarn, "draining"}
	}
	return row
}

// offset says how far a clock is ahead of the store's, or behind it.
func offset(d time.Duration) string {
	if d.Abs() < time.Millisecond {
		return "0 ms"
	}
	if d > 0 {
		return "+" + duration(d)
	}
	return duration(d)
}

func (q *request) someJobs(statuses []jobs.Status) []jobRow {
	var rows []jobRow
	for _, st := range statuses[:min(len(statuses), overviewRows)] {
		rows = append(rows, q.jobRow(st))
	}
	return rows
}

// cut keeps the first rows and counts the others.
func cut(rows []runRow) ([]runRow, int) {
	n := min(len(rows), overviewRows)
	return rows[:n], len(rows) - n
}

func kindIf(yes bool, kind string) string {
	if yes {
		return kind
	}
	return ""
}
