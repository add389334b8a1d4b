package cronspec

import (
	"time"

	"github.com/robfig/cron/v3"
)

// wildcard is the bit that robfig sets in a field that holds * or ?.
const wildcard = 1 << 63

// schedule fires as the package comment says. Wall clock readings ("reading")
// are represented as times in UTC, where arithmetic has no surprises.
type schedule struct {
	fields cron.SpecSchedule
	loc    *time.Location // nil: that of the time given to Next
}

func (s *schedule) Next(t time.Time) time.Time {
	loc := s.loc
	if loc == nil {
		loc = t.Location()
	}
	var next time.Time
	if s.fields.Hour&wildcard != 0 {
		next = s.nextElapsed(t.In(loc))
	} else {
		next = s.nextFixed(t.In(loc))
	}
	if next.IsZero() {
		return next
	}
	return next.In(t.Location())
}

// nextFixed returns the first instant after t at which the wall clock reaches,
// for the first time, a reading that matches.
//
// Only readings after t's own can do so: reachedAt never falls as readings
// grow, and t's reading was reached at t or, in a repeated hour, earlier. In a
// repeated hour the next readings were reached before t as well: that is what the loop is for.
func (s *schedule) nextFixed(t time.Time) time.Time {
	for r := readingOf(t); ; {
		var ok bool
		if r, ok = s.nextReading(r); !ok {
			return time.Time{}
		}
		if at := reachedAt(r, t.Location()); at.After(t) {
			return at
		}
	}
}

// nextElapsed returns the first instant after t whose reading matches. It goes
// from one stretch of constant offset to the next; inside a stretch readings
// and instants differ by that offset.
func (s *schedule) nextElapsed(t time.Time) time.Time {
	limit := t.AddDate(searchYears, 0, 0)
	for t.Before(limit) {
		_, offset := t.Zone()
		_, end := stretch(t)
		r, ok := s.nextReading(readingOf(t))
		if !ok {
			return time.Time{}
		}
		at := time.Unix(r.Unix()-int64(offset), 0).In(t.Location())
		if end.IsZero() || at.Before(end) {
			return at
		}
		// The next stretch may begin with a match, so look from just before
		// its first reading: that instant seen with the new offset.
		_, offset = end.Zone()
		first := time.Unix(end.Unix()+int64(offset), 0).UTC()
		if s.matches(first) {
			return end
		}
		t = end
	}
	return time.Time{}
}

// readingOf is the wall clock reading of t, cut to the second.
func readingOf(t time.Time) time.Time {
	_, offset := t.Zone()
	return time.Unix(t.Unix()+int64(offset), 0).UTC()
}

// reachedAt returns the first instant at which the wall clock of loc shows r
// or something later. No zone is more than 16 hours off UTC, so a day before
// r's face value is safely earlier.
func reachedAt(r time.Time, loc *time.Location) time.Time {
	for t := time.Unix(r.Unix()-24*3600, 0).In(loc); ; {
		_, offset := t.Zone()
		start, end := stretch(t)
		at := time.Unix(r.Unix()-int64(offset), 0).In(loc)
		switch {
		case !end.IsZero() && !at.Before(end):
			t = end // this stretch ends before r is reached
		case !start.IsZero() && at.Before(start):
			return start // r was skipped by the jump that began this stretch
		default:
			return at
		}
	}
}

// stretch returns the bounds of the constant offset around t, zero where there
// is none. A stretch may end where the offset does not change.
//
// Beyond the zone file's table ZoneBounds ends every year after 365 days, so
// that on 31 December of a leap year the end is not after t and a walk along
// the ends would stand still. On that day go by quarters of an hour, which no
// zone's rule for future changes divides.
func stretch(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = t.Truncate(15 * time.Minute).Add(15 * time.Minute)
	}
	return start, end
}
