package jobs

import (
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// Upcoming is a future tick.
type Upcoming struct {
	Tick time.Time // in the job's zone
	// DST says how a change of the clocks affects the tick. "skipped": its time does not exist on that day, so it runs
	// at the first instant after the gap. "repeated": its time comes twice on that day. Otherwise "".
	DST string
}

// Upcoming returns the next n ticks of one of this scheduler's jobs, fewer if its schedule ends. It does not ask the
// store. The error wraps ErrUnknownJob if this scheduler does not have the job.
func (s *Scheduler) Upcoming(job string, n int) ([]Upcoming, error) {
	s.mu.Lock()
	e := s.entries[job]
	var cursor time.Time
	var timings []inForce
	if e != nil {
		cursor, timings = e.cursor, s.info(e).timings
	}
	s.mu.Unlock()
	if e == nil || e.schedule == nil {
		return nil, fmt.Errorf("list the next ticks of job %q: %w: this scheduler does not have it", brief(job),
			ErrUnknownJob)
	}
	if now := e.part.clock.now(); cursor.Before(now) {
		cursor = now
	}
	return upcoming(timings, cursor, n), nil
}

func upcoming(timings []inForce, after time.Time, n int) (ticks []Upcoming) {
	if len(timings) == 0 || timings[len(timings)-1].schedule == nil {
		return nil
	}
	last := timings[len(timings)-1]
	for tick := afterOn(timings, after); !tick.IsZero() && len(ticks) < n; tick = afterOn(timings, tick) {
		local := tick.In(last.zone)
		ticks = append(ticks, Upcoming{Tick: local, DST: string(cronspec.Shift(last.schedule, local))})
	}
	return ticks
}
