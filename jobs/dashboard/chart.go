package dashboard

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// chart is values over time, or of runs one after the other, as bars from the left.
type chart struct {
	Name    string
	Bars    []bar
	Width   int
	Caption string
	Label   string // the same for those who do not see it
}

type bar struct {
	X, Y, Height int
	Kind, Title  string
}

// The chart in its own units. The page stretches it.
const (
	barWidth    = 8
	barStep     = 10
	chartHeight = 60
	chartBars   = 60
)

// value is one bar to be.
type value struct {
	size        int64
	kind, title string
}

// newChart draws the values in proportion to the largest. A value of zero has no bar.
func newChart(name, caption string, values []value) *chart {
	c := &chart{Name: name, Caption: caption, Label: name + ": " + caption}
	c.Width = len(values)*barStep - (barStep - barWidth)
	largest := int64(1)
	for _, v := range values {
		largest = max(largest, v.size)
	}
	for i, v := range values {
		if v.size <= 0 {
			continue
		}
		height := max(2, int(float64(chartHeight)*float64(v.size)/float64(largest)))
		c.Bars = append(c.Bars, bar{X: i * barStep, Y: chartHeight - height, Height: height, Kind: v.kind, Title: v.title})
	}
	return c
}

// durationChart is how long the runs of a job took; nil if there is nothing to draw. Runs are the newest first.
func durationChart(runs []jobs.Run) *chart {
	var ran []jobs.Run
	for _, r := range runs {
		if hasRun(r) && len(ran) < chartBars {
			ran = append(ran, r)
		}
	}
	if len(ran) < 2 {
		return nil
	}
	slices.Reverse(ran)
	var values []value
	var all []time.Duration
	for i := range ran {
		d := max(0, spent(&ran[i]))
		all = append(all, d)
		values = append(values, value{max(1, int64(d)), outcomeBadge(ran[i]).Kind,
			fmt.Sprintf("%s: %s, %s", ran[i].Tick.UTC().Format("2 Jan 15:04:05"), duration(d), ran[i].Outcome)})
	}
	slices.Sort(all)
	return newChart("Durations", fmt.Sprintf("last %d runs, the newest on the right; median %s, longest %s", len(ran),
		duration(all[len(all)/2]), duration(all[len(all)-1])), values)
}

// hasRun reports whether a record is of work that was begun and has ended.
func hasRun(r jobs.Run) bool { return !r.Started.IsZero() && r.Outcome != "" }

// chartsOf are throughput, failures and lateness from a moment until now; nil if nothing has run since.
func (q *request) chartsOf(runs []jobs.Run, from time.Time) []*chart {
	width := max(q.now.Sub(from)/chartBars, time.Millisecond)
	ended, bad := make([]value, chartBars), make([]value, chartBars)
	late := make([]value, chartBars)
	var (
		total, failures int
		lates           []time.Duration
	)
	for _, r := range runs {
		i := int(r.Ended.Sub(from) / width)
		if !hasRun(r) || r.Ended.Before(from) || i < 0 {
			continue
		}
		i = min(i, chartBars-1)
		total++
		ended[i].size++
		if r.Failed() {
			failures++
			bad[i].size++
		}
		if r.Trigger == jobs.TriggerSchedule {
			d := max(0, r.Started.Sub(r.Tick))
			lates = append(lates, d)
			late[i].size = max(late[i].size, int64(d), 1)
		}
	}
	if total == 0 {
		return nil
	}
	for i := range chartBars {
		at := q.moment(from.Add(time.Duration(i)*width)).Stamp + " and " + rough(max(width, time.Second)) + " on: "
		ended[i].kind, ended[i].title = kindGood, at+plural(int(ended[i].size), "run")
		bad[i].kind, bad[i].title = kindBad, at+number(int(bad[i].size))+" failed"
		late[i].kind, late[i].title = kindBusy, at+"at most "+duration(time.Duration(late[i].size))+" late"
	}
	span := rough(max(q.now.Sub(from), time.Second))
	charts := []*chart{
		newChart("Throughput", plural(total, "run")+" in the last "+span, ended),
		newChart("Failures", number(failures)+" of "+plural(total, "run")+" failed", bad),
	}
	if len(lates) > 0 {
		slices.Sort(lates)
		charts = append(charts, newChart("Lateness", fmt.Sprintf("begun %s after the tick in the median, %s at most",
			duration(lates[len(lates)/2]), duration(lates[len(lates)-1])), late))
	}
	return charts
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return number(n) + " " + thing + "s"
}

// oldest is when the first of the runs ended that have run; zero if none has. Runs are the newest first.
func oldest(runs []jobs.Run) time.Time {
	for _, r := range slices.Backward(runs) {
		if hasRun(r) {
			return r.Started
		}
	}
	return time.Time{}
}
