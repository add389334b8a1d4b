package cronspec_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the rows below must not depend on the machine

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// TestParse_clockChanges states by hand what must happen on days on which
// robfig/cron and others skip or double runs.
func TestParse_clockChanges(t *testing.T) {
	for _, c := range []struct{ zone, spec, from, to, want string }{
		{"America/New_York", "30 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-09T00:00:00-04:00", "2026-03-08T03:00:00-04:00"},
		{"America/New_York", "30 1 * * *", "2026-10-31T12:00:00-04:00", "2026-11-02T00:00:00-05:00", "2026-11-01T01:30:00-04:00"},
		{"America/New_York", "*/20 2 * * *", "2026-03-07T12:00:00-05:00", "2026-03-09T00:00:00-04:00", "2026-03-08T03:00:00-04:00"},
		{"America/New_York", "0 2,3 * * *", "2026-03-07T12:00:00-05:00", "2026-03-09T00:00:00-04:00", "2026-03-08T03:00:00-04:00"},
		{"America/New_York", "0 * * * *", "2026-11-01T00:30:00-04:00", "2026-11-01T02:30:00-05:00",
			"2026-11-01T01:00:00-04:00 2026-11-01T01:00:00-05:00 2026-11-01T02:00:00-05:00"},
		{"America/New_York", "30 * * * *", "2026-03-08T01:00:00-05:00", "2026-03-08T04:00:00-04:00",
			"2026-03-08T01:30:00-05:00 2026-03-08T03:30:00-04:00"},
		{"Africa/Cairo", "0 0 * * *", "2026-04-23T12:00:00+02:00", "2026-04-24T12:00:00+03:00", "2026-04-24T01:00:00+03:00"},
		{"America/Havana", "0 0 * * *", "2026-03-07T12:00:00-05:00", "2026-03-08T12:00:00-04:00", "2026-03-08T01:00:00-04:00"},
		{"America/Santiago", "0 0 * * *", "2026-09-05T12:00:00-04:00", "2026-09-06T12:00:00-03:00", "2026-09-06T01:00:00-03:00"},
		{"Asia/Beirut", "0 0 * * *", "2026-03-28T12:00:00+02:00", "2026-03-29T12:00:00+03:00", "2026-03-29T01:00:00+03:00"},
		{"Australia/Lord_Howe", "0 2 * * *", "2026-10-03T12:00:00+10:30", "2026-10-04T12:00:00+11:00", "2026-10-04T02:30:00+11:00"},
		{"Australia/Lord_Howe", "0 3 * * *", "2026-10-03T12:00:00+10:30", "2026-10-04T12:00:00+11:00", "2026-10-04T03:00:00+11:00"},
		{"Australia/Lord_Howe", "0 3 * * *", "2026-04-04T12:00:00+11:00", "2026-04-05T12:00:00+10:30", "2026-04-05T03:00:00+10:30"},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00:00+11:00", "2026-04-05T12:00:00+10:30", "2026-04-05T01:45:00+11:00"},
		{"Pacific/Apia", "0 3 30 12 *", "2011-12-01T00:00:00Z", "2012-01-31T00:00:00Z", "2011-12-31T00:00:00+14:00"}, // a day skipped
	} {
		sched, err := cronspec.Parse(c.spec, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for next := sched.Next(at(t, c.from)); next.Before(at(t, c.to)); next = sched.Next(next) {
			got = append(got, next.In(zone(t, c.zone)).Format(time.RFC3339))
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s in %s fired at %v, want %v", c.spec, c.zone, got, want)
		}
	}
}

var oracleZones = []string{"America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago", "America/Havana", "Asia/Beirut", "Europe/Dublin", "Africa/Casablanca"}

var oracleSpecs = []string{"30 2 * * *", "30 1 * * *", "0 0 * * *", "15 0 * * *", "0 3 * * *", "*/10 0-3 * * *", "0 * * * *", "45 * * * *", "*/30 * * * *", "0 */2 * * *", "30 23 * * sun", "0 0 * * 0,5"}

// TestParse_oracle compares Next with a walk over every minute of a year
// that asks only what the wall clock shows. The oracle knows no offsets and no
// transitions: a fixed-time spec fires at the first minute at which the clock
// has got as far as one of its readings.
func TestParse_oracle(t *testing.T) {
	from, to := at(t, "2026-01-01T00:00:00Z"), at(t, "2027-01-01T00:00:00Z")
	for _, name := range oracleZones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := walk(zone(t, name), from, to)
			for _, spec := range oracleSpecs {
				want := clock.fires(t, spec)
				sched, err := cronspec.Parse(spec, name)
				if err != nil {
					t.Fatal(err)
				}
				now := from.Add(-time.Second)
				for _, w := range want {
					next := sched.Next(now)
					if !next.Equal(w) {
						t.Fatalf("%s: after %s comes %s, the oracle says %s", spec, now.In(w.Location()), next.In(w.Location()), w)
					}
					now = next
				}
				if next := sched.Next(now); next.Before(to) {
					t.Fatalf("%s: after %s comes %s, the oracle knows no more", spec, now, next)
				}
				for _, probe := range clock.probes() {
					i, found := slices.BinarySearchFunc(want, probe, time.Time.Compare)
					if found {
						i++
					}
					if next := sched.Next(probe); i < len(want) && !next.Equal(want[i]) {
						t.Fatalf("%s: after %s comes %s, the oracle says %s", spec, probe, next.In(probe.Location()), want[i])
					}
				}
			}
		})
	}
}

// wallClock is what a clock on the wall shows, minute by minute. A reading is a number of minutes, counted as if the
// clock were in UTC.
type wallClock struct {
	instants []time.Time
	readings []int64
}

func walk(loc *time.Location, from, to time.Time) wallClock {
	var c wallClock
	for t := from.In(loc); t.Before(to); t = t.Add(time.Minute) {
		year, month, day := t.Date()
		hour, minute, _ := t.Clock()
		shown := time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
		c.instants = append(c.instants, t)
		c.readings = append(c.readings, shown.Unix()/60)
	}
	return c
}

// probes returns instants to ask about that are not ticks themselves: in the hours in which the clock shows again what
// it has shown before, and some others.
func (c wallClock) probes() []time.Time {
	var probes []time.Time
	far := c.readings[0]
	for i, reading := range c.readings {
		if reading < far && i%7 == 0 || i%5003 == 0 {
			probes = append(probes, c.instants[i].Add(time.Duration(i%2)*time.Second/2))
		}
		far = max(far, reading)
	}
	return probes
}

func (c wallClock) fires(t *testing.T, spec string) []time.Time {
	parsed, err := cron.ParseStandard("TZ=UTC " + spec) // in UTC robfig is right
	if err != nil {
		t.Fatal(err)
	}
	first, last := c.readings[0]-24*60, c.readings[len(c.readings)-1]
	matching := make([]bool, last-first+1)
	for r := parsed.Next(time.Unix(first*60, 0)); r.Unix()/60 <= last; r = parsed.Next(r) {
		matching[r.Unix()/60-first] = true
	}
	wildcardHour := strings.Fields(spec)[1] == "*"
	var fired []time.Time
	far := c.readings[0] - 1 // the furthest the clock has got
	for i, reading := range c.readings {
		hit := wildcardHour && matching[reading-first]
		for ; far < reading; far++ {
			hit = hit || !wildcardHour && matching[far+1-first]
		}
		if hit {
			fired = append(fired, c.instants[i])
		}
	}
	return fired
}
