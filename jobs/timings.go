package jobs

import (
	"time"

	"github.com/robfig/cron/v3"
)

// inForce is a timing that is in force from since, excluded, to that of the next one, included.
type inForce struct {
	since    time.Time
	schedule cron.Schedule // nil: no ticks, or none that this node can compute
	zone     *time.Location
}

// after returns the first tick of the job after t, zero if there is none: what was due under an earlier timing belongs
// to that, and nothing under one from before it came into force.
func (e *entry) after(t time.Time) time.Time {
	if len(e.timings) == 0 {
		return tickAfter(e.schedule, e.zone, t)
	}
	return afterOn(e.timings, t)
}

func afterOn(timings []inForce, t time.Time) time.Time {
	for i, f := range timings {
		var end time.Time
		if i+1 < len(timings) {
			end = timings[i+1].since
		}
		if f.schedule == nil || !end.IsZero() && !t.Before(end) {
			continue
		}
		from := t
		if f.since.After(from) {
			from = f.since
		}
		if tick := tickAfter(f.schedule, f.zone, from); !tick.IsZero() && (end.IsZero() || !tick.After(end)) {
			return tick
		}
	}
	return time.Time{}
}

// periodsOf makes what the store says of the timings of a job computable. own is the timing of this node's job, which
// schedule belongs to.
func periodsOf(periods []TimingPeriod, own Timing, schedule cron.Schedule, zone *time.Location) []inForce {
	timings := make([]inForce, len(periods))
	for i, s := range periods {
		timings[i] = inForce{since: s.Since, schedule: schedule, zone: zone}
		if s.Timing != own {
			timings[i].schedule, timings[i].zone = s.Timing.parse()
		}
	}
	return timings
}

// learn takes in what the store says of a job that this node has registered. It reports whether the node is to look
// after its ticks.
func (l *loop) learn(e *entry, view JobView) bool {
	own := e.timing()
	timings := periodsOf(view.Spec.Timings, own, e.schedule, e.zone)
	dormant := len(timings) > 0 && view.Spec.Timings[len(timings)-1].Timing != own
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	e.refused, e.dormant = view.Refused, dormant
	if e.refused == "" {
		e.owed, e.owedOK = view.Owed, true
		if first := view.Spec.Timings; e.cursor.IsZero() && len(first) > 0 && first[0].Since.Equal(view.Cursor) {
			e.madeUp = view.Cursor
		}
		e.cursor, e.timings, e.version, e.epoch = view.Cursor, timings, view.Version, view.Spec.Epoch
	}
	return e.refused == "" && !dormant
}
