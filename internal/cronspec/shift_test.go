package cronspec_test

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
)

func TestShift(t *testing.T) {
	for _, c := range []struct {
		zone, spec, tick string
		want             cronspec.Change
	}{
		{"America/New_York", "30 2 * * *", "2026-03-08T03:00:00-04:00", cronspec.Skipped},
		{"America/New_York", "30 2 * * *", "2026-03-09T02:30:00-04:00", cronspec.Unchanged},
		{"America/New_York", "0 2,3 * * *", "2026-03-08T03:00:00-04:00", cronspec.Unchanged}, // 03:00 is meant as well
		{"America/New_York", "30 1 * * *", "2026-11-01T01:30:00-04:00", cronspec.Repeated},
		{"America/New_York", "30 * * * *", "2026-11-01T01:30:00-05:00", cronspec.Repeated},
		{"America/New_York", "0 2 * * *", "2026-11-01T02:00:00-05:00", cronspec.Unchanged},
		{"America/New_York", "59 0 * * *", "2026-11-01T00:59:00-04:00", cronspec.Unchanged},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-05T01:45:00+11:00", cronspec.Repeated},
		{"Australia/Lord_Howe", "15 1 * * *", "2026-04-05T01:15:00+11:00", cronspec.Unchanged},
		{"UTC", "0 0 * * *", "2026-03-29T00:00:00Z", cronspec.Unchanged},
	} {
		s, err := cronspec.Parse(c.spec, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		tick := at(t, c.tick)
		if next := s.Next(tick.Add(-time.Second)); !next.Equal(tick) {
			t.Fatalf("%s in %s: %s is no tick, %s is", c.spec, c.zone, tick, next)
		}
		if got := cronspec.Shift(s, tick); got != c.want {
			t.Errorf("Shift of %s, %s at %s = %q, want %q", c.spec, c.zone, c.tick, got, c.want)
		}
	}
	if got := cronspec.Shift(cron.Every(time.Hour), at(t, "2026-11-01T01:30:00-04:00")); got != cronspec.Unchanged {
		t.Errorf("Shift of a schedule of another package = %q, want none", got)
	}
}
