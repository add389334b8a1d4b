package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEntry_next checks the decisions about missed ticks, as a pure function of mark and time.
func TestEntry_next(t *testing.T) {
	day := func(clock string) time.Time {
		v, err := time.Parse("15:04:05", clock)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for _, c := range []struct {
		misfire   Misfire
		spec      string
		mark, now string
		want      string // tick, trigger, skipped ticks
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
		{MisfireAll, "* * * * *", "10:00:00", "10:05:30", "10:01:00 misfire"},
		{MisfireAll, "* * * * *", "10:00:00", "10:01:05", "10:01:00 schedule"},
		{MisfireAll, "* * * * *", "10:00:00", "20:00:30", "19:51:00 misfire, not 10:01:00-19:50:00"}, // cap 10
		{MisfireAll, "* * * * *", "10:00:00", "10:10:30", "10:01:00 misfire"},
		{MisfireAll, "* * * * *", "10:00:00", "10:11:30", "10:02:00 misfire, not 10:01:00-10:01:00"},
	} {
		e, err := Job{Name: "j", Spec: c.spec, Misfire: c.misfire, MisfireCap: 10, Run: sleepFor(0)}.prepare(time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		p := e.next(day(c.mark), day(c.now))
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
		if got != c.want {
			t.Errorf("Misfire %s, %s, mark %s, now %s: %s, want %s", c.misfire, c.spec, c.mark, c.now, got, c.want)
		}
	}
}

// TestScheduler_misfire stops all nodes for half an hour, and has a job of every policy catch up.
func TestScheduler_misfire(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		up := func() []*node {
			var nodes []*node
			for range 3 {
				n := c.node(Config{}, 0)
				for _, m := range []Misfire{MisfireSkip, MisfireOnce, MisfireAll} {
					n.add(Job{Name: string(m), Spec: "*/10 * * * *", Misfire: m, Run: sleepFor(time.Second)})
				}
				n.start()
				nodes = append(nodes, n)
			}
			return nodes
		}
		first := up()
		time.Sleep(15 * time.Minute) // the tick of minute 10
		for _, n := range first {
			n.stop()
		}
		time.Sleep(30 * time.Minute) // 20, 30, 40
		second := up()
		time.Sleep(10 * time.Minute) // 50
		for _, n := range second {
			n.stop()
		}
		for job, want := range map[string]string{
			"skip": "10 ok schedule, 40 skipped misfire, 50 ok schedule",
			"once": "10 ok schedule, 30 skipped misfire, 40 ok misfire, 50 ok schedule",
			"all":  "10 ok schedule, 20 ok misfire, 30 ok misfire, 40 ok misfire, 50 ok schedule",
		} {
			var got []string
			runs := c.runs(job)
			for _, r := range runs {
				got = append(got, fmt.Sprint(r.Tick.Minute(), " ", r.Outcome, " ", r.Trigger))
				if r.Outcome == OutcomeSkipped && !strings.Contains(r.Reason, "misfire: all ticks from 2000-01-01T00:20:00Z") {
					t.Errorf("%s: reason %q", job, r.Reason)
				}
			}
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("%s: %s, want %s", job, s, want)
			}
			runs = slices.DeleteFunc(runs, func(r Run) bool { return r.Outcome == OutcomeSkipped })
			byStart := slices.SortedFunc(slices.Values(runs), func(a, b Run) int { return a.Started.Compare(b.Started) })
			for i := range byStart[1:] {
				if next := byStart[i+1]; next.Started.Before(byStart[i].Ended) {
					t.Errorf("%s: a run of tick %s began before that of tick %s had ended", job, next.Tick, byStart[i].Tick)
				}
			}
		}
	})
}

// TestScheduler_firstStart checks that a job seen for the first time owes nothing, and that a restart across a tick
// runs it.
func TestScheduler_firstStart_andRestartAcrossTheMinute(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		time.Sleep(23*time.Hour + 90*time.Second)
		from := time.Now()
		for range 5 { // up for 40 s, down for 5 s, so that a tick falls into some of the pauses
			n := c.node(Config{}, 0)
			n.add(Job{Name: "j", Spec: "* * * * *", Run: sleepFor(time.Second)})
			n.start()
			time.Sleep(40 * time.Second)
			n.stop()
			time.Sleep(5 * time.Second)
		}
		c.expectOnce("j", "* * * * *", from, time.Now().Add(-10*time.Second))
	})
}

// TestScheduler_scheduleEnds checks that a schedule without further ticks is left alone.
func TestScheduler_scheduleEnds(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		n := c.node(Config{}, 0)
		last := time.Now().Add(90 * time.Second)
		n.add(Job{Name: "j", Schedule: once(last), Run: sleepFor(0)})
		n.start()
		time.Sleep(time.Hour)
		if next := n.Jobs()[0].Next; !next.IsZero() {
			t.Errorf("Next = %s after the last tick", next)
		}
		c.stop()
		if runs := c.runs("j"); outcomes(runs) != "ok" || !runs[0].Tick.Equal(last) {
			t.Errorf("runs %+v, want one at %s", runs, last)
		}
	})
}

type once time.Time

func (o once) Next(t time.Time) time.Time {
	if t.Before(time.Time(o)) {
		return time.Time(o)
	}
	return time.Time{}
}
