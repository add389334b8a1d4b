package cronspec

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Change is what a change of the clocks does to a tick.
type Change string

// What a change of the clocks may do.
const (
	Unchanged Change = ""
	Skipped   Change = "skipped"  // the reading meant does not exist, this is the first instant after the gap
	Repeated  Change = "repeated" // the clock shows the reading twice
)

// Shift tells what a change of the clocks does to the tick t of s, a schedule of this package. Of others it knows
// nothing, and @every follows no clock.
func Shift(s cron.Schedule, t time.Time) Change {
	sched, ok := s.(*schedule)
	if !ok {
		return Unchanged
	}
	if sched.loc != nil {
		t = t.In(sched.loc)
	}
	switch {
	case !sched.matches(readingOf(t)):
		return Skipped
	case repeats(t):
		return Repeated
	}
	return Unchanged
}

// repeats reports whether the clock shows the reading of t before or after t as well, because it was set back in between.
func repeats(t time.Time) bool {
	_, offset := t.Zone()
	start, end := stretch(t)
	if !end.IsZero() {
		_, after := end.Zone()
		if back := time.Duration(offset-after) * time.Second; !t.Add(back).Before(end) && back > 0 {
			return true
		}
	}
	if !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		if back := time.Duration(before-offset) * time.Second; t.Before(start.Add(back)) {
			return true
		}
	}
	return false
}
