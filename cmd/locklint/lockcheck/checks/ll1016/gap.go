package ll1016

import (
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// A gap is a piece of wall clock time that a zone skips, with a due time in it. The readings are in UTC only to have a
// type for them.
type gap struct{ from, to, due time.Time }

// The years that are looked at. They are fixed, because the go command keeps what a check has found: an answer may not
// depend on the day.
var (
	gapsFrom = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	gapsTo   = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

// gapOf finds the first gap of a zone that a spec with fixed hours falls into. Where the hour is a wildcard, a range or
// a step, the job follows elapsed time, and where there is no zone or no data about it nothing can be said.
func gapOf(spec, zone string) (gap, bool) {
	fields := strings.Fields(spec)
	if zone == "" || len(fields) < 5 {
		return gap{}, false
	}
	if hour := fields[len(fields)-4]; strings.Trim(hour, "0123456789,") != "" {
		return gap{}, false
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return gap{}, false
	}
	due, err := cronspec.Parse(spec, "UTC")
	if err != nil {
		return gap{}, false
	}
	for t := gapsFrom; t.Before(gapsTo); t = t.Add(time.Hour) {
		before, after := offset(t, loc), offset(t.Add(time.Hour), loc)
		if after <= before {
			continue
		}
		at := transition(t, loc)
		g := gap{from: at.Add(before), to: at.Add(after)}
		if g.due = due.Next(g.from.Add(-time.Second)); g.due.Before(g.to) {
			return g, true
		}
	}
	return gap{}, false
}

// offset is how far ahead of UTC the clocks of a zone are.
func offset(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// transition is the minute within an hour at which the clocks change.
func transition(t time.Time, loc *time.Location) time.Time {
	start := offset(t, loc)
	for offset(t, loc) == start {
		t = t.Add(time.Minute)
	}
	return t
}
