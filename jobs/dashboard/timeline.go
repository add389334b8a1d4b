package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/timeline"
	"github.com/lockgen/lockgen/jobs"
)

const (
	// timelineSpan is how much of the past the overview draws, if the records go back so far.
	timelineSpan = 5 * time.Minute
	// timelineRuns is how many runs the timeline of one job draws.
	timelineRuns = 30
	// timelineLanes is how many nodes a timeline has.
	timelineLanes = 12
	// timelineBars bounds the size of a page.
	timelineBars = 400
)

// timelineOf is what a timeline is drawn of.
type timelineOf struct {
	runs, running []jobs.Run // the newest first
	nodes         []jobs.Node
	only          []string  // of these nodes, besides those that have runs; nil: all
	from          time.Time // the earliest moment
	most          int       // how many runs, the newest
	zone          *time.Location
	manyJobs      bool
}

// timeline draws runs in the lanes of their nodes; empty if there is nothing to draw.
func (q *request) timeline(of timelineOf) template.HTML {
	c := timeline.Chart{From: of.from, To: q.now, Zone: of.zone}
	runs := slices.Concat(of.running, of.runs)
	if begin := beginOf(runs, q.now, of.most); begin.After(c.From) {
		c.From = begin
	}
	runs = slices.DeleteFunc(runs, func(r jobs.Run) bool { return endOf(r, q.now).Before(c.From) })
	runs = runs[:min(len(runs), timelineBars)]
	if len(runs) == 0 {
		return ""
	}
	ticks := map[string]timeline.Tick{}
	for _, r := range slices.Backward(runs) {
		q.addTick(ticks, r, of.manyJobs)
		if !r.Started.IsZero() {
			c.Bars = append(c.Bars, q.bar(r, of.nodes, of.manyJobs))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ticks)) {
		c.Ticks = append(c.Ticks, ticks[key])
	}
	c.Lanes = q.lanes(of, c.Bars)
	c.Bars = slices.DeleteFunc(c.Bars, func(b timeline.Bar) bool {
		return !slices.ContainsFunc(c.Lanes, func(l timeline.Lane) bool { return l.Name == b.Lane })
	})
	c.Label = fmt.Sprintf("Timeline: %d runs on %d nodes since %s", len(c.Bars), len(c.Lanes), q.moment(c.From).Stamp)
	drawing, err := c.SVG()
	if err != nil {
		q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelError, "dashboard timeline failed", slog.Any("error", err))
	}
	return drawing
}

// beginOf is from when on the last runs are seen.
func beginOf(runs []jobs.Run, now time.Time, most int) time.Time {
	begin, seen := now.Add(-time.Second), 0
	for _, r := range runs {
		if r.Started.IsZero() {
			continue
		}
		begin = minTime(begin, r.Started)
		if seen++; seen == most {
			break
		}
	}
	return begin.Add(-now.Sub(begin) / 50)
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func endOf(r jobs.Run, now time.Time) time.Time {
	if r.Outcome == "" {
		return now
	}
	return r.Ended
}

// bar is one run. A lost one breaks off when its node was missed first, as far as that is known: the record says only
// when others noticed.
func (q *request) bar(r jobs.Run, nodes []jobs.Node, manyJobs bool) timeline.Bar {
	m := outcomeBadge(r)
	b := timeline.Bar{
		Lane: r.Node, Kind: m.Kind, From: r.Started, To: endOf(r, q.now), Open: r.Outcome == "",
		Link: address("run", "id", r.ID), Broken: r.Outcome == jobs.OutcomeLost,
		Chain: fmt.Sprint(r.Job, "\x00", r.OneOff, "\x00", r.Tick.UnixMicro()),
	}
	for _, n := range nodes {
		end := n.Heartbeat.Add(time.Second) // when the next one was due
		if b.Broken && n.Name == r.Node && n.Started.Before(b.From) && end.After(b.From) && end.Before(b.To) {
			b.To = end
		}
	}
	b.Title = fmt.Sprintf("%s, tick %s: %s, %s on %s", r.Job, q.moment(r.Tick).Stamp, m.Text,
		cmp.Or(q.took(r), "–"), r.Node)
	if r.Attempt > 1 {
		b.Title += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	if manyJobs {
		b.Label = lastPart(r.Job)
	} else {
		b.Label = m.Text
	}
	return b
}

// lastPart is what fits into a bar of a name: that of the function.
func lastPart(job string) string { return job[strings.LastIndexAny(job, "/.")+1:] }

// addTick notes what became of the tick of a run; of several runs the last one says it.
func (q *request) addTick(ticks map[string]timeline.Tick, r jobs.Run, manyJobs bool) {
	if r.Trigger == jobs.TriggerManual {
		return
	}
	m := outcomeBadge(r)
	t := timeline.Tick{At: r.Tick, Kind: m.Kind, Title: q.moment(r.Tick).Stamp + ": " + m.Text}
	if manyJobs {
		t.Title = r.Job + " " + t.Title
	}
	ticks[fmt.Sprint(r.Tick.UnixMicro(), r.Job, r.OneOff)] = t
}

// lanes are the nodes, those that have bars first where there are too many.
func (q *request) lanes(of timelineOf, bars []timeline.Bar) []timeline.Lane {
	busy := map[string]bool{}
	for _, b := range bars {
		busy[b.Lane] = true
	}
	lanes := map[string]timeline.Lane{}
	for name := range busy {
		lanes[name] = timeline.Lane{Name: name}
	}
	for _, n := range withoutReplaced(of.nodes) {
		if of.only != nil && !busy[n.Name] && !slices.Contains(of.only, n.Name) {
			continue
		}
		lane := timeline.Lane{Name: n.Name}
		if row := q.nodeRow(n); row.State.Kind != kindGood {
			lane.Note = row.State.Text
		}
		lanes[n.Name] = lane
	}
	all := slices.SortedFunc(maps.Values(lanes), func(a, b timeline.Lane) int { return strings.Compare(a.Name, b.Name) })
	if len(all) > timelineLanes {
		all = slices.DeleteFunc(all, func(l timeline.Lane) bool { return !busy[l.Name] })
	}
	return all[:min(len(all), timelineLanes)]
}
