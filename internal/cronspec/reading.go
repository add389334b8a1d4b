package cronspec

import "time"

// searchYears bounds every search. The rarest date, 29 February, is eight
// years off when a century that is no leap year lies between.
const searchYears = 9

// nextReading returns the first wall clock reading after r that matches the
// fields, and false when there is none within searchYears.
func (s *schedule) nextReading(r time.Time) (time.Time, bool) {
	f := &s.fields
	r = r.Add(time.Second)
	for limit := r.AddDate(searchYears, 0, 0); r.Before(limit); {
		year, month, day := r.Date()
		hour, minute, second := r.Clock()
		switch {
		case f.Month&(1<<uint(month)) == 0:
			r = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.dayMatches(r):
			r = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case f.Hour&(1<<uint(hour)) == 0:
			r = time.Date(year, month, day, hour+1, 0, 0, 0, time.UTC)
		case f.Minute&(1<<uint(minute)) == 0:
			r = time.Date(year, month, day, hour, minute+1, 0, 0, time.UTC)
		case f.Second&(1<<uint(second)) == 0:
			r = r.Add(time.Second)
		default:
			return r, true
		}
	}
	return time.Time{}, false
}

func (s *schedule) matches(r time.Time) bool {
	next, ok := s.nextReading(r.Add(-time.Second))
	return ok && next.Equal(r)
}

// dayMatches: both fields must match if one of them is a wildcard, else either.
func (s *schedule) dayMatches(r time.Time) bool {
	dom := s.fields.Dom&(1<<uint(r.Day())) != 0
	dow := s.fields.Dow&(1<<uint(r.Weekday())) != 0
	if s.fields.Dom&wildcard != 0 || s.fields.Dow&wildcard != 0 {
		return dom && dow
	}
	return dom || dow
}
