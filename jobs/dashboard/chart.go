package dashboard

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// chart is the durations of a job's runs as bars, the oldest first.
type chart struct {
	Bars            []bar
	Width           int
	Median, Longest string
	Label           string // the same for those who do not see it
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

// chartOf returns nil if there is nothing to draw. Runs are the newest first.
func chartOf(runs []jobs.Run) *chart {
	var ran []jobs.Run
	for _, r := range runs {
		if !r.Started.IsZero() && r.Outcome != "" && len(ran) < chartBars {
			ran = append(ran, r)
		}
	}
	if len(ran) < 2 {
		return nil
	}
	slices.Reverse(ran)
	var all []time.Duration
	for i := range ran {
		all = append(all, max(0, spent(&ran[i])))
	}
	sorted := slices.Sorted(slices.Values(all))
	longest := max(sorted[len(sorted)-1], 1)
	c := &chart{Width: len(ran)*barStep - (barStep - barWidth), Median: duration(sorted[len(sorted)/2]),
		Longest: duration(longest)}
	for i, r := range ran {
		height := max(2, int(int64(chartHeight)*int64(all[i]/time.Microsecond)/max(1, int64(longest/time.Microsecond))))
		c.Bars = append(c.Bars, bar{
			X: i * barStep, Y: chartHeight - height, Height: height, Kind: outcomeMark(r).Kind,
			Title: fmt.Sprintf("%s: %s, %s", r.Tick.UTC().Format("2 Jan 15:04:05"), duration(all[i]), r.Outcome),
		})
	}
	c.Label = fmt.Sprintf("Durations of the last %d runs, oldest first: median %s, longest %s", len(ran), c.Median,
		c.Longest)
	return c
}
