package jobs

import (
	"context"
	"errors"
	"time"
)

// Store keeps what the nodes of a cluster must agree on: per job, the mark (up to which tick all is decided), the
// claims (ticks that a node has taken on and not finished) and the records of runs. [NewMemoryStore] and
// [NewRedisStore] implement it; the comments are the contract.
//
// Every method that changes something does so in one atomic step per job, and decides by the store's own clock, which
// all nodes share. All methods may be called concurrently, and block until the store has answered or ctx ends. Times
// are kept to the microsecond. Every call may be repeated with the same run IDs when its answer was lost.
//
// What is not in this interface yet fits beside it: a paused job is one more thing that Claim looks at, a run on
// demand is a Claim that leaves the mark alone.
type Store interface {
	// Look returns the state of the jobs, in the order asked for. A job that the store sees for the first time gets
	// the store's time as its mark, so that nothing before that is owed. Without jobs it only tells the time.
	Look(ctx context.Context, jobs []string) (View, error)

	// Claim moves marks; each claim succeeds or fails for itself, and the result has one element for each. The
	// first that applies:
	//   - the mark is Tick already and Pending's run is in flight: ClaimWon (a repeated call)
	//   - the mark is not Prev: ClaimTaken, and nothing changes
	//   - Due is later than the store's time: ClaimEarly, and nothing changes
	//   - else the mark becomes Tick, Skipped is recorded and Pending is in flight for Lease, all in one step:
	//     ClaimWon.
	Claim(ctx context.Context, claims []Claim) []Claimed

	// Start notes that the run begins, with its Started time and Fence, and keeps its claim for another lease. The
	// error is ErrGone if it is not in flight.
	Start(ctx context.Context, p Pending, lease time.Duration) error

	// Renew keeps claims for lease from now. The result has one element per run: nil, ErrGone, or why the store
	// could not be asked.
	Renew(ctx context.Context, runs []RunRef, lease time.Duration) []error

	// Finish ends a claim: the run is no longer in flight, its record is kept (not if its Outcome is empty: then it
	// is only passed on), and Next, if any, is in flight in its place. The error is ErrGone, and nothing changes, if
	// the run is not in flight, or if Orphan is set and its lease is not over on the store's clock.
	Finish(ctx context.Context, f Finish) error

	// Runs returns the job's records, the latest recorded first, limit at most.
	Runs(ctx context.Context, job string, limit int) ([]Run, error)
}

// ErrGone says that a run is not in flight: another node found its claim over and recorded it as lost, or it was
// recorded by an earlier call whose answer was lost.
var ErrGone = errors.New("run is not in flight")

// RunRef names one run in flight.
type RunRef struct{ Job, ID string }

// View is what [Store.Look] saw.
type View struct {
	Now  time.Time // the store's time
	Jobs []JobView
}

// JobView is the state of one job.
type JobView struct {
	Mark   time.Time
	Claims []Pending
}

// Pending is a run in flight.
type Pending struct {
	Run        Run           `json:"run"`                  // Started is zero until Store.Start
	Locker     string        `json:"locker"`               // Node of the Locker whose lock the run uses
	Recoveries int           `json:"recoveries,omitempty"` // how often it was taken over without having started
	PassedOn   bool          `json:"passedOn,omitempty"`   // by a node that is shutting down, for any other
	Left       time.Duration `json:"-"`                    // of its lease, at View.Now; not above 0 when it is over
}

// Claim asks to move a job's mark.
type Claim struct {
	Job     string
	Prev    time.Time     // what the node believes the mark to be
	Tick    time.Time     // the new mark
	Due     time.Time     // the earliest moment for it on the store's clock: the tick, and its jitter
	Pending *Pending      // the run for Tick; nil when no tick is to be run
	Skipped *Run          // the record of the ticks after Prev that are not run; nil for none
	Lease   time.Duration // of Pending
	Keep    int           // records to keep per job
}

// Claimed is the answer to one [Claim].
type Claimed struct {
	Status ClaimStatus
	Mark   time.Time // as it is now
	Now    time.Time // the store's time
	Err    error     // why the store could not be asked; the rest is zero then
}

// ClaimStatus is how a claim went.
type ClaimStatus int

// See [Store.Claim].
const (
	ClaimWon   ClaimStatus = 1
	ClaimTaken ClaimStatus = 2
	ClaimEarly ClaimStatus = 3
)

// Finish asks to end a claim.
type Finish struct {
	Run    Run
	Next   *Pending
	Lease  time.Duration // of Next; 0: whoever looks may take it over
	Orphan bool          // Run is another node's: end it only when its lease is over
	Keep   int           // records to keep per job
}
