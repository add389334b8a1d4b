package ll1016

import (
	"context"

	"github.com/lockgen/lockgen/jobs"
)

func run(context.Context) error { return nil }

const nightly = "nightly"

func add(s *jobs.Scheduler, name string) {
	s.Add(jobs.Job{Name: "never", Spec: "0 0 30 2 *", Run: run})                          // want `LL1016: the scheduler will refuse this job: cron spec "0 0 30 2 \*": it never fires`
	s.Add(jobs.Job{Name: "bad", Spec: "61 * * * *", Run: run})                            // want `LL1016: the scheduler will refuse this job`
	s.Add(jobs.Job{Name: nightly, Spec: "0 3 * * *", Run: run})                           // the first
	s.Add(jobs.Job{Name: "nightly", Spec: "0 4 * * *", Run: run})                         // want `LL1016: the name "nightly" belongs to the job at line 16 already`
	s.Add(jobs.Job{Name: "gap", Spec: "30 2 * * *", TZ: "Europe/Berlin", Run: run})       // want `LL1016: the clocks of Europe/Berlin skip 02:30 on 2025-03-30, when they go from 02:00 to 03:00: that run comes at 03:00`
	s.Add(jobs.Job{Name: "gap2", Spec: "15 1,2 * * 0", TZ: "America/New_York", Run: run}) // want `LL1016: the clocks of America/New_York skip 02:15 on 2025-03-09`

	// Fine.
	s.Add(jobs.Job{Name: "a", Spec: "30 4 * * *", TZ: "Europe/Berlin", Run: run})
	s.Add(jobs.Job{Name: "b", Spec: "30 * * * *", TZ: "Europe/Berlin", Run: run})
	s.Add(jobs.Job{Name: "c", Spec: "30 2 * * *", TZ: "UTC", Run: run})
	s.Add(jobs.Job{Name: "d", Spec: "30 2 * * *", Run: run})
	s.Add(jobs.Job{Name: "e", Spec: "30 2 1 7 *", TZ: "Europe/Berlin", Run: run})
	s.Add(jobs.Job{Name: "f", Spec: "0 3 29 2 *", Run: run})
	s.Add(jobs.Job{Name: "g", Spec: "@every 90s", Run: run})
	s.Add(jobs.Job{Name: name, Spec: "0 3 * * *", Run: run})
	s.Add(jobs.Job{Name: name, Spec: "0 3 * * *", Run: run})
}
