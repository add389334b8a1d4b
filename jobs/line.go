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
	if len(e.line) == 0 {
		return tickAfter(e.schedule, e.zone, t)
	}
	return afterOn(e.line, t)
}

func afterOn(line []inForce, t time.Time) time.Time {
	for i, f := range line {
		var end time.Time
		if i+1 < len(line) {
			end = line[i+1].since
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

// lineOf makes what the store says of the timings of a job computable. own is the timing of this node's job, which
// schedule belongs to.
func lineOf(stretches []Stretch, own Timing, schedule cron.Schedule, zone *time.Location) []inForce {
	line := make([]inForce, len(stretches))
	for i, s := range stretches {
		line[i] = inForce{since: s.Since, schedule: schedule, zone: zone}
		if s.Timing != own {
			line[i].schedule, line[i].zone = s.Timing.parse()
		}
	}
	return line
}

// learn takes in what the store says of a job that this node has registered. It reports whether the node is to look
// after its ticks.
func (s *Scheduler) learn(e *entry, view JobView) bool {
	own := e.timing()
	line := lineOf(view.Spec.Line, own, e.schedule, e.zone)
	dormant := len(line) > 0 && view.Spec.Line[len(line)-1].Timing != own
	s.mu.Lock()
	defer s.mu.Unlock()
	e.refused, e.dormant = view.Refused, dormant
	if e.refused == "" {
		e.owed, e.owedOK = view.Owed, true
		e.mark, e.line, e.version, e.epoch = view.Mark, line, view.Version, view.Spec.Epoch
	}
	return e.refused == "" && !dormant
}
