package jobs

import (
	"context"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Run is the record of one attempt to run one tick of a job, or of ticks that were not run. Times are on the store's
// clock.
type Run struct {
	ID      string       `json:"id"`
	Job     string       `json:"job"`
	Tick    time.Time    `json:"tick"`            // the scheduled time
	Ticks   int64        `json:"ticks,omitempty"` // how many ticks were skipped, from First to Tick; 0: Tick alone
	First   time.Time    `json:"first,omitzero"`
	Claimed time.Time    `json:"claimed"` // when a node took the tick on
	Started time.Time    `json:"started,omitzero"`
	Ended   time.Time    `json:"ended,omitzero"`
	Node    string       `json:"node"`
	Outcome Outcome      `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"` // why it was not run, or not to its end
	Error   string       `json:"error,omitempty"`  // what Job.Run returned, or the panic with its stack; cut at 8 KiB
	Fence   lockrt.Fence `json:"fence,omitempty"`  // of the first key
	Attempt int          `json:"attempt"`          // from 1
	Trigger string       `json:"trigger"`
	Author  string       `json:"author,omitempty"` // who requested the run, or ended the pause
	// CancelAsked says who asked for the run to end. The run may have ended by itself before it learned of the request.
	// Nil: nobody asked.
	CancelAsked *Notice `json:"cancelAsked,omitempty"`
	OneOff      string  `json:"oneOff,omitempty"`  // ID of the one-off job
	Payload     []byte  `json:"payload,omitempty"` // of the one-off job
}

// Join returns one record for the ticks of r and of an earlier record, and whether they may share a record. They may if
// both are ticks of a schedule that were skipped for the same reason. The result is r under the ID of the earlier
// record, so links to it stay valid while it grows.
func (r Run) Join(earlier Run) (joined Run, ok bool) {
	if !r.Joins() || !earlier.Joins() || r.Trigger != earlier.Trigger || r.Reason != earlier.Reason {
		return r, false
	}
	r.ID, r.Ticks = earlier.ID, max(earlier.Ticks, 1)+max(r.Ticks, 1)
	// Nodes may record them in another order.
	ticks := []time.Time{r.first(), earlier.first(), r.Tick, earlier.Tick}
	r.First, r.Tick = slices.MinFunc(ticks, time.Time.Compare), slices.MaxFunc(ticks, time.Time.Compare)
	return r, true
}

func (r *Run) first() time.Time {
	if r.First.IsZero() {
		return r.Tick
	}
	return r.First
}

// latest is the last moment that is known of a run that has not ended.
func (r *Run) latest() time.Time { return latest(r.Claimed, r.Started) }

// isAskedFor reports whether somebody has asked for r. It is not of the schedule then.
func (r *Run) isAskedFor() bool {
	return r.Trigger == TriggerManual || r.Author != "" || r.OneOff != ""
}

// Joins reports whether r may share a record. A skipped run that somebody requested has its own record, and so does a
// skip that ended a retry.
func (r *Run) Joins() bool {
	return r.Outcome == OutcomeSkipped && r.Author == "" &&
		(r.Trigger == TriggerSchedule || r.Trigger == TriggerMisfire)
}

// Outcome is how a run ended.
type Outcome string

// The outcomes of a run.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeError     Outcome = "error"     // Job.Run returned an error, or called runtime.Goexit
	OutcomePanic     Outcome = "panic"     // Job.Run panicked
	OutcomeTimeout   Outcome = "timeout"   // Job.Timeout was over and Job.Run returned an error
	OutcomeLost      Outcome = "lost"      // the lock was lost meanwhile, or the node died
	OutcomeSkipped   Outcome = "skipped"   // not run, see Reason
	OutcomeCancelled Outcome = "cancelled" // ended by a drain that took too long, by Cancel, or by OverlapReplace
)

// The values of Run.Trigger.
const (
	TriggerSchedule = "schedule" // the tick was due
	TriggerMisfire  = "misfire"  // the tick had been missed
	TriggerRecovery = "recovery" // the node that had claimed the tick died
	TriggerRetry    = "retry"    // the attempt before failed
	TriggerManual   = "manual"   // somebody asked for it
	TriggerOneOff   = "one-off"  // the time of a one-off job
)

type tickKey struct{}

type tickValue struct {
	s    *Scheduler
	job  string
	tick time.Time
	run  string
}

// TickFromContext returns the job that ctx belongs to and the scheduled time of its run, in the job's zone. It returns
// false if ctx does not come from a job. If the work depends on the date, use the tick and not the clock: a run may be
// late, or may be tried again the next day.
func TickFromContext(ctx context.Context) (job string, tick time.Time, ok bool) {
	v, ok := ctx.Value(tickKey{}).(tickValue)
	return v.job, v.tick, ok
}

// RunID names a run in flight.
type RunID struct {
	Job, ID string
	Session string // of the Scheduler that makes the run
}

// RunFromContext returns which run ctx belongs to, and false if ctx does not come from a job or a handler. Stores use it
// that complete a run in a transaction of its work.
func RunFromContext(ctx context.Context) (id RunID, ok bool) {
	v, ok := ctx.Value(tickKey{}).(tickValue)
	if !ok {
		return RunID{}, false
	}
	return RunID{Job: v.job, ID: v.run, Session: v.s.session}, true
}
