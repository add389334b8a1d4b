package jobs

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Store keeps what the nodes of a cluster must agree on. Of each job, the cursor (up to which tick all is decided), the
// runs in flight (taken on by a node and not finished), whether it is paused, and the records of its runs; besides, the
// one-off jobs that wait for their time, and the nodes. The packages below
// this one implement it; the comments are the contract, and package storetest is its test.
//
// What a method changes about one job or one run it changes in one atomic step, and it decides by the store's own
// clock, which all nodes share. Methods that take several elements treat each for itself, in order, and their result
// has one element for each. All methods may be called concurrently, and block until the store has answered or ctx ends.
// Times are kept to the microsecond.
//
// Every call may be repeated when its answer was lost, and then says what the first said, unless something else has
// happened to the run since.
//
// # Records
//
// Of each job the newest Keep records are kept. One that is added takes the place of an earlier one, and comes before
// all others, if [Run.Join] joins it to that and there are only skipped ticks since: so what a job is skipped for all
// night does not push out the records of its runs.
//
// # Owners
//
// A run in flight belongs to an owner, the session of a node. The owner is alive until its lease is over, on the
// store's clock: every Claim, Start, Finish and Heartbeat of a session makes its lease last for that call's Lease from
// then. A run whose owner is not alive is an orphan, and may be taken over; one whose owner is [Nobody] always is.
//
// # Parts
//
// A store consists of one or several parts, each of which may be away while the others answer, as the servers of a
// Redis Cluster may. For its jobs a node makes calls that are about one part only, so that none waits for another.
type Store interface {
	// Parts returns the number of parts, and PartOf the one that a job is in, from 0 on. Jobs whose names begin with
	// "one-off:" are handlers, and are in one part with all one-off jobs. Neither blocks, and what they return never
	// changes.
	Parts() int
	PartOf(job string) int

	// Register makes jobs known, notes which definitions of them a session has, and tells their state. Of each:
	//   - If the store does not know the job, its cursor becomes Offer.Cursor, or the store's time if that is zero, so
	//     that nothing before that is owed. Of handlers no cursor is kept.
	//   - A known cursor that is before Offer.Cursor becomes that. One that the store had made up for a session that
	//     knew of none, and that has not moved since, becomes Offer.Cursor also if that is earlier.
	//   - Where the cursor becomes that of the offer, so does what is owed. Where it is the same, of what is owed only
	//     what Offer.Owed has as well stays owed, from the later one of the two, if Offer.OwedKnown is set.
	//   - While a session of another program that is alive has the job, it is not registered: see JobView.Refused.
	//   - A definition that differs from all that are known gets a version: Offer.Version if that is free, else one
	//     above all others. Of those that are known some of the newest are kept.
	//   - Of the definitions that sessions that are alive have, that with the highest version is in force. If its
	//     Timing is not that in force before, it is so from the store's time on, and the epoch changes.
	// A store may forget a job that nobody has registered for a year.
	Register(ctx context.Context, r Registration) (View, error)

	// Retire puts a job's timing out of force as of the last time that a session has registered it, or of the cursor if
	// that is later: nothing after that is owed until a session registers the job again. The error is ErrGone, and
	// nothing changes, if epoch is not the job's.
	Retire(ctx context.Context, job, epoch string) error

	// List returns names of jobs that were ever registered and are not forgotten, a page at a time: its cost is that of
	// the page, however many jobs there are, and that of a search the names that it looks at. Like InFlight and
	// Failures it returns what there is with a *PartsError if only some parts of the store do not answer.
	List(ctx context.Context, q ListQuery) (ListPage, error)

	// Count counts jobs without reading them; see ListQuery.UnseenSince for unseenSince. Like List, it and the next two
	// return what there is with a *PartsError if only some parts of the store do not answer.
	Count(ctx context.Context, unseenSince time.Time) (JobCount, error)

	// Latest returns the jobs and handlers of which a record was kept last, the latest first, limit at most.
	Latest(ctx context.Context, limit int) ([]LatestRecord, error)

	// MostMissed returns the jobs that have missed the most ticks, limit at most. Those that have missed none are not
	// among them.
	MostMissed(ctx context.Context, limit int) ([]string, error)

	// Look tells the state of the jobs, in the order asked for, and changes nothing. The cursor of an unknown job is
	// the zero time. Without jobs it only tells the time.
	Look(ctx context.Context, jobs []string) (View, error)

	// Cursors tells the cursors of the jobs, zero for unknown ones, and changes nothing. It is what nodes ask most when
	// many jobs are due.
	Cursors(ctx context.Context, jobs []string) ([]time.Time, error)

	// Epochs tells the epochs of the jobs, "" for unknown ones, and changes nothing.
	Epochs(ctx context.Context, jobs []string) ([]string, error)

	// Claim moves cursors and puts runs in flight. The first that applies:
	//   - InFlight is in flight already under the same owner: ClaimWon (a repeated call)
	//   - OneOff is set: ClaimTaken if no such one-off job waits, ClaimEarly if Due is later than the store's time;
	//     else it waits no longer, InFlight is in flight: ClaimWon
	//   - Manual is set: InFlight is in flight, the cursor stays: ClaimWon
	//   - the job is unknown: ClaimUnknown
	//   - Epoch is set, and is not that of the job: ClaimStale
	//   - the cursor is not Prev: ClaimTaken
	//   - the job is paused: ClaimPaused
	//   - Due is later than the store's time: ClaimEarly
	//   - else the cursor becomes Tick, Owe is added to what is owed, Skipped is recorded, Missed is added to the job's
	//     count of missed ticks, and InFlight is in flight: ClaimWon.
	// With Owed set, in place of the cursor that what is owed longest begins at Prev is asked for, it then begins at
	// Tick, or is owed no more if Done is set; and while a run with InFlight.Backlog of the job is in flight:
	// ClaimBusy. Whatever is not ClaimWon changes nothing else.
	Claim(ctx context.Context, claims []Claim) []Claimed

	// Start notes that runs begin. The error is ErrGone if the run is not in flight under this owner, and a
	// *CancelledError, and nothing changes, if somebody wants it to end.
	Start(ctx context.Context, starts []Start) []error

	// Finish ends runs: the run is no longer in flight, its record is kept (not if its Outcome is empty: then it is
	// only passed on), and Next, if any, is in flight in its place; it may have the same ID. The error is ErrGone, and
	// nothing changes, if the run is not in flight under this owner, or if Orphan is set and the owner is alive. An
	// owner whose orphan was ended finds a Notice in its next Heartbeat. If somebody wants the run to end,
	// Run.CancelAsked of its record says so, a Next with another ID is not put in flight, and the error is a
	// *CancelledError; the rest is done. A Next with the same ID keeps the notice.
	Finish(ctx context.Context, finishes []Finish) []error

	// Heartbeat is a sign of life of a session in one part of the store. In the part of one-off jobs it shows Node in
	// the list of nodes. It returns what the session is to know of the part.
	Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error)

	// Restore puts back what sessions know after data was lost. Of pauses and resumes the one with the highest version
	// stands. A run that is not in flight is so again; that it is recorded already is not looked for. One-off jobs in
	// Past have been claimed or withdrawn and wait no more; of those in Waiting one that is not known waits again.
	Restore(ctx context.Context, m Memory) error

	// Leave ends a session: its node leaves the list, and the runs it may have left behind are orphans at once. What it
	// can it does in all parts, whichever are away.
	Leave(ctx context.Context, session string) error

	// Nodes returns the nodes whose last heartbeat is within the last ten minutes, sorted by name.
	Nodes(ctx context.Context) ([]Node, error)

	// InFlight returns all runs in flight, in no order.
	InFlight(ctx context.Context) ([]InFlight, error)

	// Runs returns the records of each job, the latest recorded first, limit at most of each.
	Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error)

	// Failures returns records of all jobs that say of a failure ([Run.Failed]), the latest recorded first, limit at
	// most. The newest 200 of the cluster are kept at least, whatever Keep and however many runs their jobs have had
	// since.
	Failures(ctx context.Context, limit int) ([]Run, error)

	// Pause stops a job's ticks from being claimed. A pause that there is already is replaced, except for its At. Each
	// pause and each resume has a higher version than the one before. It returns what stands then. The error is
	// ErrUnknownJob if the job was never registered.
	Pause(ctx context.Context, job string, p Pause) (PauseState, error)

	// Resume ends the pause with this version: the job's cursor becomes the store's time, if that is later, and record
	// is kept. It returns what stands then. The error is ErrGone, and nothing changes, if that is not the job's pause.
	Resume(ctx context.Context, job string, version int64, record Run, keep int) (PauseState, error)

	// Cancel leaves a notice for a run, whoever owns it now or later. The error is ErrGone if the run is not in flight.
	Cancel(ctx context.Context, n Notice) error

	// Put stores a one-off job. If one with the same ID waits, or had its time within the last day, nothing changes;
	// that is no error.
	Put(ctx context.Context, o OneOff) error

	// Withdraw removes a one-off job that waits. The error is ErrGone if none does.
	Withdraw(ctx context.Context, id string) error

	// Waiting returns the one-off jobs that wait for their time, the next first, limit at most.
	Waiting(ctx context.Context, limit int) ([]OneOff, error)
}

// ErrGone says that what a call of a [Store] was about is not there any more. Of a run: it is not in flight under the
// owner that was named, because it was recorded by an earlier call, or because another node has taken it over.
var ErrGone = errors.New("not in flight")

// Nobody is the owner of runs that wait for any node.
const Nobody = "nobody"

// View is what [Store.Look] saw.
type View struct {
	Now  time.Time // the store's time
	Jobs []JobView
}

// JobView is the state of one job.
type JobView struct {
	Cursor   time.Time  // zero: the job is unknown
	Paused   *Pause     // nil: it is not
	Missed   int64      // ticks that were not run by Job.Misfire, since the job is known
	InFlight []InFlight // in flight
	Owed     []Span     // ticks that are to be run one after another beside the schedule, oldest first
	Spec     JobSpec    // zero: no session has ever registered it

	Version int64  // of the definition that was registered; only from Register
	Refused string // the program that has the job, if it is another one; only from Register
}

// InFlight is a run in flight.
type InFlight struct {
	Run        Run    `json:"run"`                  // Started is zero until Store.Start
	Owner      string `json:"-"`                    // the session that it belongs to
	Locker     string `json:"locker,omitempty"`     // Node of the Locker whose lock the run uses
	Recoveries int    `json:"recoveries,omitempty"` // how often it was taken over without having started
	Backlog    bool   `json:"backlog,omitempty"`    // of a tick that was owed, see Claim.Owe, or held up
	Patient    bool   `json:"patient,omitempty"`    // it waits a while for the lock, which one of those may hold
	// HeldUp is when the last run began that was held up, of those that it is patient with.
	HeldUp   time.Time `json:"heldUp,omitzero"`
	PassedOn bool      `json:"passedOn,omitempty"` // by a node that is shutting down, for any other
	Program  string    `json:"program,omitempty"`  // whose nodes it is for; "": any that have the job
}

// delay notes that the stores, or the death of its node, have held a run up before it began. A later tick's run may
// have the lock meanwhile, so it is run beside the schedule, as a tick that is owed. What somebody has asked for
// replaces others all the same.
func (p *InFlight) delay() {
	p.Patient = true
	p.Backlog = p.Backlog || p.Run.Author == "" && p.Run.OneOff == ""
}

// Span is a stretch of ticks: those after From, up to To.
type Span struct{ From, To time.Time }

// Claim asks to move a job's cursor, or to put a run in flight.
type Claim struct {
	Job      string
	Manual   bool          // leave the cursor alone
	Epoch    string        // JobSpec.Epoch that the claim was planned in; "" for any
	OneOff   string        // ID of the one-off job to take in place of a tick; "" for none
	Prev     time.Time     // what the node believes the cursor to be
	Tick     time.Time     // the new cursor
	Due      time.Time     // the earliest moment for it on the store's clock: the tick, and its jitter
	Owe      *Span         // ticks after Prev, up to Tick, that are to be run one after another beside the schedule
	Owed     bool          // take a tick of those; leave the cursor alone
	Done     bool          // it is the last one of its span
	InFlight *InFlight     // the run for Tick; nil when no tick is to be run
	Skipped  *Run          // the record of the ticks after Prev that are not run; nil for none
	Missed   int64         // their number
	Lease    time.Duration // of InFlight.Owner
	Keep     int           // records to keep per job
}

// Claimed is the answer to one [Claim].
type Claimed struct {
	Status ClaimStatus
	Cursor time.Time // as it is now; zero for one-off jobs
	Owed   []Span    // as it is now, oldest first
	Now    time.Time // the store's time
	Err    error     // why the store could not be asked; the rest is zero then
}

// ClaimStatus is how a claim went.
type ClaimStatus int

// See [Store.Claim].
const (
	ClaimWon     ClaimStatus = 1
	ClaimTaken   ClaimStatus = 2
	ClaimEarly   ClaimStatus = 3
	ClaimPaused  ClaimStatus = 4
	ClaimBusy    ClaimStatus = 5
	ClaimStale   ClaimStatus = 6
	ClaimUnknown ClaimStatus = 7
)

// Start says that a run begins.
type Start struct {
	Run   Run // its ID, Job, Started and Fence count
	Owner string
	Lease time.Duration // of Owner
}

// Finish asks to end a run.
type Finish struct {
	Run    Run
	Owner  string
	Next   *InFlight
	Lease  time.Duration // of Next.Owner
	Orphan bool          // end it only if Owner is not alive
	Keep   int           // records to keep per job
}

// Heartbeat is a sign of life of a session.
type Heartbeat struct {
	Part    int
	Session string
	Node    Node // its Heartbeat is set by the store
	Lease   time.Duration
	Horizon time.Duration // how far ahead to look for one-off jobs
	Waiting []string      // in the part of one-off jobs: IDs of some that the session believes to wait, some hundreds at most
	Stamp   string        // HeartbeatReply.Stamp of the session's last heartbeat in the part that was answered; "": none was
}

// HeartbeatReply is what a session learns of a part of the store from its [Store.Heartbeat].
type HeartbeatReply struct {
	Now     time.Time
	Peers   []string   // sessions with a heartbeat within the lease, this one among them, sorted
	Held    int        // runs in flight that belong to the session
	Orphans []InFlight // some thousands at most; the next heartbeat tells the others
	Notices []Notice   // for runs that the session owns or has owned; they are repeated until the run has ended
	Stamp   string     // for the next heartbeat
	// the store does not know of the heartbeat that gave Heartbeat.Stamp: it has lost data, or is a copy from before
	Lost   bool
	Pauses []PauseState // of all jobs that were ever paused, if they may have changed since the last heartbeat
	Over   []string     // those in Heartbeat.Waiting that do not wait
	Due    []OneOff     // one-off jobs whose time comes within the horizon, the next first, some thousands at most
}

// CancelledError says that somebody wants a run to end.
type CancelledError struct{ Notice Notice }

func (e *CancelledError) Error() string {
	return (&cancelledError{author: e.Notice.Author, reason: e.Notice.Reason}).Error()
}

// PauseState is the last pause or resume of a job.
type PauseState struct {
	Job     string
	Version int64
	Pause   *Pause // nil: it was resumed
}

// Memory is what a session knows of what the store has lost.
type Memory struct {
	Pauses   []PauseState
	InFlight []InFlight    // runs of the session
	Lease    time.Duration // of the session
	Waiting  []OneOff
	Past     []string // IDs of one-off jobs
}

// Notice tells the owner of a run that it is to end.
type Notice struct {
	Job    string    `json:"job"`
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Author string    `json:"author,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Taken  bool      `json:"taken,omitempty"` // another node has ended it as an orphan
}

// OneOff is a one-off job that waits for its time.
type OneOff struct {
	ID      string    `json:"id"`
	Handler string    `json:"handler"`
	At      time.Time `json:"at"`
	Payload []byte    `json:"payload,omitempty"`
}

// Compare orders one-off jobs by their time, those of one time by their ID.
func (o OneOff) Compare(other OneOff) int {
	return cmp.Or(o.At.Compare(other.At), cmp.Compare(o.ID, other.ID))
}
