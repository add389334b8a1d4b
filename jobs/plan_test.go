package jobs

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestEntry_next checks the decisions about missed ticks, as a pure function of cursor and time.
func TestEntry_next(t *testing.T) {
	t.Parallel()
	day := func(clock string) time.Time {
		v, err := time.Parse("15:04:05", clock)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for _, c := range []struct {
		misfire     Misfire
		spec        string
		cursor, now string
		want        string // tick, trigger, skipped ticks
	}{
		{MisfireOnce, "* * * * *", "10:00:00", "10:00:30", "10:01:00 schedule"},
		{MisfireOnce, "* * * * *", "10:00:00", "10:01:09", "10:01:00 schedule"}, // within its grace
		{MisfireOnce, "* * * * *", "10:00:00", "10:01:11", "10:01:00 misfire"},
		{MisfireOnce, "* * * * *", "10:00:00", "10:05:30", "10:05:00 misfire, not 10:01:00-10:04:00"},
		{MisfireOnce, "* * * * *", "10:00:00", "10:05:05", "10:05:00 schedule, not 10:01:00-10:04:00"},
		{MisfireOnce, "0 3 * * *", "03:00:00", "23:59:00", "03:00:00+24h schedule"},
		{MisfireOnce, "* * 3 * * *", "02:00:00", "14:00:00", "03:59:59 misfire, not 03:00:00-03:59:58"},
		{MisfireSkip, "* * * * *", "10:00:00", "10:01:09", "10:01:00 schedule"},
		{MisfireSkip, "* * * * *", "10:00:00", "10:05:30", "10:05:00 not run, not 10:01:00-10:05:00"},
		{MisfireSkip, "* * * * *", "10:00:00", "10:05:05", "10:04:00 not run, not 10:01:00-10:04:00"},
		{MisfireAll, "* * * * *", "10:00:00", "10:05:30", "10:05:00 not run, owes 10:01:00-10:05:00"},
		{MisfireAll, "* * * * *", "10:00:00", "10:01:05", "10:01:00 schedule"},
		// cap 10
		{MisfireAll, "* * * * *", "10:00:00", "20:00:30",
			"20:00:00 not run, not 10:01:00-19:50:00, owes 19:51:00-20:00:00"},
		{MisfireAll, "* * * * *", "10:00:00", "10:10:30", "10:10:00 not run, owes 10:01:00-10:10:00"},
		{MisfireAll, "* * * * *", "10:00:00", "10:11:30",
			"10:11:00 not run, not 10:01:00-10:01:00, owes 10:02:00-10:11:00"},
		{MisfireAll, "* * * * *", "10:00:00", "10:01:30", "10:01:00 not run, owes 10:01:00-10:01:00"},
		// Several within their grace would collide.
		{MisfireSkip, "* * * * * *", "10:00:00", "10:00:05", "10:00:05 not run, owes 10:00:01-10:00:05"},
		{MisfireOnce, "* * * * * *", "10:00:00", "10:00:05", "10:00:05 not run, owes 10:00:01-10:00:05"},
		{MisfireAll, "* * * * * *", "10:00:00", "10:00:05", "10:00:05 not run, owes 10:00:01-10:00:05"},
		{MisfireAll, "* * * * * *", "10:00:00", "10:00:01", "10:00:01 schedule"},
		{MisfireSkip, "* * * * * *", "10:00:00", "10:00:15", "10:00:04 not run, not 10:00:01-10:00:04"},
	} {
		e, err := Job{Name: "j", Spec: c.spec, Misfire: c.misfire, MisfireCap: 10,
			Run: func(context.Context) error { return nil }}.prepare(time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		p := e.next(day(c.cursor), day(c.now))
		got := p.tick.Format("15:04:05")
		if p.tick.Day() != 1 {
			got += "+24h"
		}
		if p.run {
			got += " " + p.trigger
		} else {
			got += " not run"
		}
		if g := p.skipped; g != nil {
			got += fmt.Sprintf(", not %s-%s", g.first.Format("15:04:05"), g.last.Format("15:04:05"))
		}
		if o := p.owe; o != nil {
			got += fmt.Sprintf(", owes %s-%s", e.after(o.From).Format("15:04:05"), o.To.Format("15:04:05"))
		}
		if got != c.want {
			t.Errorf("Misfire %s, %s, cursor %s, now %s: %s, want %s", c.misfire, c.spec, c.cursor, c.now, got, c.want)
		}
	}
}
