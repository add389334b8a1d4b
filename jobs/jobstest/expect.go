package jobstest

import (
	"context"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lockgen/lockgen/internal/cronspec"
	"github.com/lockgen/lockgen/jobs"
)

// Ticks returns the ticks of a spec in UTC after from and up to to.
func (c *Cluster) Ticks(spec string, from, to time.Time) []time.Time {
	c.t.Helper()
	schedule, err := cronspec.Parse(spec, "")
	if err != nil {
		c.t.Fatal(err)
	}
	return ticks(schedule, from, to)
}

func ticks(schedule cron.Schedule, from, to time.Time) (all []time.Time) {
	for tick := schedule.Next(from.UTC()); !tick.After(to); tick = schedule.Next(tick) {
		all = append(all, tick)
	}
	return all
}

// ExpectOnce checks that a job succeeded exactly once at each tick of spec, not early, and at no other time. It looks
// at the ticks in UTC after from and up to to.
func (c *Cluster) ExpectOnce(job, spec string, from, to time.Time) {
	c.t.Helper()
	got := make(map[time.Time]int)
	for _, r := range c.Finished(job) {
		if r.Outcome != jobs.OutcomeOK {
			c.t.Errorf("%s: tick %s ended %s: %s %s", job, r.Tick, r.Outcome, r.Reason, r.Error)
		}
		if early := r.Tick.Sub(r.Started); early > 0 {
			c.t.Errorf("%s: tick %s started %s early", job, r.Tick, early)
		}
		got[r.Tick]++
	}
	want := c.Ticks(spec, from, to)
	for _, tick := range want {
		if got[tick] != 1 {
			c.t.Errorf("%s: tick %s ran %d times", job, tick, got[tick])
		}
		delete(got, tick)
	}
	if len(want) == 0 || len(got) > 0 {
		c.t.Errorf("%s: %d ticks expected, and beyond them ran %v", job, len(want), got)
	}
}

// Outcomes returns the outcomes of runs, separated by spaces, for comparison.
func Outcomes(runs []jobs.Run) string {
	words := make([]string, len(runs))
	for i, r := range runs {
		words[i] = string(r.Outcome)
	}
	return strings.Join(words, " ")
}

// Sleep returns work that takes a fixed time, or ends with its context.
func Sleep(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
