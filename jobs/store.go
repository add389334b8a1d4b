package jobs

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Store keeps what the nodes of a cluster must agree on. For each job it keeps the cursor (all ticks up to it are
// decided), the runs in flight (taken on by a node and not finished), the pause, and the records of its runs. It also
// keeps the waiting one-off jobs and the nodes. The packages below this one implement it. The comments are the
// contract, and package storetest tests it.
//
// A method changes one job or one run in one atomic step. It decides by the store's own clock, which all nodes share. A
// method that takes several elements handles each by itself, in order, and its result has one element for each. All
// methods may be called concurrently. They block until the store has answered or ctx ends. Times are kept to the
// microsecond.
//
// A call whose answer was lost may be repeated. The repeated call gives the answer of the first one, unless something
// else has happened to the run since. A copy of a call may also come late, when its caller has made others since. It must
// not make a run that has begun one that has not.
//
// # Records
//
// The newest Keep records of each job are kept. A new record replaces an earlier one if [Run.Join] joins the two and
// all records since then are skipped ticks. The joined record is then the newest. So a job that is skipped all night
// keeps the records of its runs.
//
// # Owners
//
// A run in flight belongs to an owner, the session of a node. The owner is alive until its lease ends on the store's
// clock. Every Claim, Start, Finish and Heartbeat of a session extends its lease to that call's Lease from then. A run
// whose owner is not alive is an orphan, and may be taken over. A run whose owner is [Nobody] is always an orphan.
//
// # Parts
//
// A store consists of one or several parts. A part may be down while the others answer, as the servers of a Redis
// Cluster may. For its jobs a node makes calls that concern only one part, so that no part delays another.
//
// # Failures
//
// A call that panics, or that does not answer for each element of what it was given, has failed for all of them. It is
// tried again as after an error. So is one whose answer cannot be: without the store's time, with a status that there is
// not, or with an error in which errors.As finds nil.
//
// # One-off jobs
//
// Put, Withdraw and Waiting are no optional interface: they are about 20 lines of a store in memory, and without them
// Claim, Heartbeat and Restore would still have to know one-off jobs, or the scheduler could not offer [Scheduler.At] at
// all.
type Store interface {
	// Parts returns the number of parts, and PartOf the one that a job is in, from 0 on. Jobs whose names begin with
	// "one-off:" are handlers, and are in one part with all one-off jobs. Neither blocks, and what they return never
	// changes.
	Parts() int
	PartOf(job string) int

	// Register makes jobs known, stores which definitions of them a session has, and returns their state. For each job:
	//   - If the store does not know the job, its cursor becomes Offer.Cursor. If that is zero, it becomes the store's
	//     time, so that nothing before it is owed. Handlers have no cursor.
	//   - A known cursor that is before Offer.Cursor becomes Offer.Cursor. The store may have set a cursor itself, for
	//     a session that knew of none. If such a cursor has not moved since, it becomes Offer.Cursor even if that is
	//     earlier. If it has, and Offer.Cursor is before what the store had set, the ticks between the two become owed,
	//     and those of Offer.Owed as well. If another session has said so before, those up to Offer.Cursor are owed no
	//     more.
	//   - If the cursor becomes Offer.Cursor, the owed ticks become Offer.Owed. If the cursors are equal and
	//     Offer.OwedKnown is set, only those ticks stay owed that Offer.Owed has as well, from the later one of the
	//     two. Those from before a cursor that the store has set itself stay owed in any case.
	//   - While a live session of another program has the job, it is not registered: see JobView.Refused. Nor is it while
	//     a transaction keeps it locked: see JobView.Err.
	//   - A definition that differs from all known ones gets a version: Offer.Version if that is free, otherwise one
	//     above all others. Some of the newest known definitions are kept.
	//   - Among the definitions of live sessions, the one with the highest version is in force. If its Timing differs
	//     from the one that was in force, it is in force from the store's time on, and the epoch changes.
	// A store may forget a job that nobody has registered for a year.
	Register(ctx context.Context, r Registration) (View, error)

	// Retire ends a job's timing as of the last time that a session has registered the job, or as of the cursor if that
	// is later. Nothing after that time is owed until a session registers the job again. The error is ErrGone, and
	// nothing changes, if epoch is not the job's epoch.
	Retire(ctx context.Context, job, epoch string) error

	// List returns names of jobs that were ever registered and are not forgotten, one page at a time. Its cost depends
	// on the page and not on the number of jobs; a search costs as much as the names that it looks at. Like InFlight
	// and Failures it returns a *PartsError with the names of the other parts if only some parts of the store do not
	// answer.
	List(ctx context.Context, q ListQuery) (ListPage, error)

	// Count counts jobs without reading them; see ListQuery.UnseenSince for unseenSince. Like List, it and the next two
	// return what there is with a *PartsError if only some parts of the store do not answer.
	Count(ctx context.Context, unseenSince time.Time) (JobCount, error)

	// Latest returns the jobs and handlers of which a record was kept last, the latest first, limit at most.
	Latest(ctx context.Context, limit int) ([]LatestRecord, error)

	// MostMissed returns the jobs that have missed the most ticks, limit at most. Those that have missed none are not
	// among them.
	MostMissed(ctx context.Context, limit int) ([]string, error)

	// Look returns the state of the jobs in the given order, and changes nothing. The cursor of an unknown job is the
	// zero time. Without jobs it returns only the time.
	Look(ctx context.Context, jobs []string) (View, error)

	// Cursors returns the cursors of the jobs, zero for unknown ones, and changes nothing. It is the most frequent call
	// of nodes when many jobs are due.
	Cursors(ctx context.Context, jobs []string) ([]time.Time, error)

	// Epochs returns the epochs of the jobs, "" for unknown ones, and changes nothing.
	Epochs(ctx context.Context, jobs []string) ([]string, error)

	// Claim moves cursors and puts runs in flight. The first case that applies decides:
	//   - InFlight is in flight already under the same owner: ClaimWon (a repeated call), and the run stays as it is
	//   - OneOff is set: ClaimTaken if no such one-off job waits, or if it is changed or put again at this moment, also in
	//     a transaction of the application; ClaimEarly if Due is later than the store's time; else it waits no longer,
	//     InFlight is in flight: ClaimWon
	//   - Manual is set: InFlight is in flight, the cursor stays: ClaimWon. If a Manual claim has put it in flight within
	//     the last day it stays as it is, or ended: ClaimWon
	//   - the job is unknown: ClaimUnknown
	//   - Epoch is set, and is not that of the job: ClaimStale
	//   - the cursor is not Prev: ClaimTaken
	//   - the job is paused: ClaimPaused
	//   - Due is later than the store's time: ClaimEarly
	//   - else the cursor becomes Tick, Owe is added to what is owed, Skipped is recorded, Missed is added to the job's
	//     count of missed ticks, and InFlight is in flight: ClaimWon.
	// With Owed set, the claim concerns owed ticks and not the cursor: the oldest span of owed ticks must begin at
	// Prev. The span then begins at Tick, or is removed if Done is set. While a run with InFlight.Backlog of the job is
	// in flight, the status is ClaimBusy. A claim whose status is not ClaimWon changes nothing else.
	Claim(ctx context.Context, claims []Claim) []Claimed

	// Start records that runs begin. The error is ErrGone if the run is not in flight under this owner, or if Started is
	// not after InFlight.Void. It is a *CancelledError, and nothing changes, if somebody has asked for the run to end. A
	// begin that is recorded already stays if it is later: the owner counts its Starts of a run up by Started.
	Start(ctx context.Context, starts []Start) []error

	// Finish ends runs. The run is no longer in flight, and its record is kept. If its Outcome is empty, the run is
	// only passed on, and no record is kept. Next, if any, is in flight in its place, and may have the same ID. The
	// error is ErrGone, and nothing changes, if the run is not in flight under this owner, or if Orphan is set and the
	// owner is alive. An owner whose orphan was ended finds a Notice in its next Heartbeat. If somebody has asked for
	// the run to end, the error is a *CancelledError, Run.CancelAsked of its record says so, and a Next with another ID
	// is not put in flight; the rest is done. A Next with the same ID keeps the notice.
	// If Next has the same ID and owner, or the outcome is OutcomeLost, Run.Started is when the run has begun at the latest
	// as far as the caller knows; for its owner, that is what its last Start said. If the run has begun later, nothing
	// changes: the call comes late. The error is nil in the first case, as for the earlier copy, and ErrGone in the other.
	// If the run was completed in a transaction, only a Finish with OutcomeOK and without Next ends it. The error of
	// others is ErrCompleted, and nothing changes.
	Finish(ctx context.Context, finishes []Finish) []error

	// Heartbeat extends a session's lease in one part of the store. In the part of one-off jobs it also puts Node in
	// the list of nodes. It returns what the session must know of the part.
	Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error)

	// Restore puts back what sessions know after data was lost. Of pauses and resumes the one with the highest version
	// applies. A run that is not in flight is put in flight again, without a check whether it is recorded already.
	// One-off jobs in Past have been claimed or withdrawn, and wait no more. An unknown one-off job in Waiting waits
	// again.
	Restore(ctx context.Context, m Memory) error

	// Leave ends a session. Its node leaves the list, and runs that it still owns are orphans at once. It does what it
	// can in every part, even if other parts do not answer. Only the session itself calls it: to a session that lives
	// it is as if the store had lost its data, and others try its runs again beside it, more often than Retries.
	Leave(ctx context.Context, session string) error

	// Nodes returns the nodes whose last heartbeat is within the last ten minutes, sorted by name.
	Nodes(ctx context.Context) ([]Node, error)

	// InFlight returns all runs in flight, in no order.
	InFlight(ctx context.Context) ([]InFlight, error)

	// Runs returns the records of each job, the latest recorded first, limit at most of each.
	Runs(ctx context.Context, jobs []string, limit int) ([][]Run, error)

	// Failures returns the records of all jobs that are failures ([Run.Failed]), the latest recorded first, limit at
	// most. At least the newest 200 of the cluster are kept, whatever Keep is and however many runs their jobs have had
	// since.
	Failures(ctx context.Context, limit int) ([]Run, error)

	// Pause stops a job's ticks from being claimed. It replaces an existing pause, except for its At. Each pause and
	// each resume has a higher version than the one before: the time of it in µs since the epoch, or one more than the
	// last. If At is set, and the last one was a resume whose version is above that, the pause comes late, and nothing
	// changes. It returns the state that applies then. The error is ErrUnknownJob if the job was never registered.
	Pause(ctx context.Context, job string, p Pause) (PauseState, error)

	// Resume ends the pause with this version. The job's cursor becomes the store's time if that is later, and record
	// is kept. It returns the state that applies then. The error is ErrGone, and nothing changes, if the job's pause
	// has another version.
	Resume(ctx context.Context, job string, version int64, record Run, keep int) (PauseState, error)

	// Cancel leaves a notice for a run, for its present owner and any later one. The error is ErrGone if the run is not
	// in flight.
	Cancel(ctx context.Context, n Notice) error

	// Put stores a one-off job. If one with the same ID waits, or had its time within the last day, nothing changes;
	// that is no error. What [OneOff.Check] refuses is an error, and not stored.
	Put(ctx context.Context, o OneOff) error

	// Withdraw removes a one-off job that waits. The error is ErrGone if no job with this ID waits.
	Withdraw(ctx context.Context, id string) error

	// Waiting returns the one-off jobs that wait for their time, the next first, limit at most.
	Waiting(ctx context.Context, limit int) ([]OneOff, error)
}

// ErrGone says that the object of a [Store] call does not exist any more. A run is gone if it is not in flight under
// the named owner: an earlier call has recorded it, or another node has taken it over.
var ErrGone = errors.New("not in flight")

// ErrCompleted says that a run was completed in a transaction of its work, which some stores support: see CompleteTx of
// package jobs/sqlstore. The work has been done, and must not be done again.
var ErrCompleted = errors.New("completed in a transaction")

// ErrLocked says that nothing was changed because a transaction has locked what the element is about: one of a node that
// has stopped there, or of the work of a run. The store answers, and the call is to be tried again later.
var ErrLocked = errors.New("locked by a transaction")

// Nobody is the owner of runs that wait for any node.
const Nobody = "nobody"

// View is the result of [Store.Look].
type View struct {
	Now  time.Time // the store's time
	Jobs []JobView
}

// JobView is the state of one job.
type JobView struct {
	Cursor   time.Time  // zero: the job is unknown
	Paused   *Pause     // nil: it is not
	Missed   int64      // ticks that Job.Misfire has skipped since the store knows the job
	InFlight []InFlight // in flight
	Owed     []Span     // ticks that are to be run one after another beside the schedule, oldest first
	Spec     JobSpec    // zero: no session has ever registered it

	Version int64  // of the definition that was registered; only from Register
	Refused string // the program that has the job, if it is another one; only from Register
	Err     error  // wraps ErrLocked if the job could not be registered, and is to be offered again; only from Register
}

// InFlight is a run in flight.
type InFlight struct {
	Run        Run    `json:"run"`                  // Started is zero until Store.Start
	Owner      string `json:"-"`                    // the session that it belongs to
	Locker     string `json:"locker,omitempty"`     // Node of the Locker whose lock the run uses
	Recoveries int    `json:"recoveries,omitempty"` // how often it was taken over before it started
	Backlog    bool   `json:"backlog,omitempty"`    // of a tick that was owed, see Claim.Owe, or held up
	Patient    bool   `json:"patient,omitempty"`    // it waits for the lock for a while, which such a run may hold
	// HeldUp is when the last held-up run began, among the runs that this one waits for patiently.
	HeldUp   time.Time `json:"heldUp,omitzero"`
	Void     time.Time `json:"void,omitzero"`      // what the last Start said before the run was given up; see Store.Start
	PassedOn bool      `json:"passedOn,omitempty"` // a node that is shutting down passed it on to any other
	Program  string    `json:"program,omitempty"`  // whose nodes it is for; "": any that have the job

	Completed bool `json:"-"` // in a transaction of its work, see ErrCompleted
}

// delay notes that the stores, or the death of its node, have held a run up before it began. A later tick's run may
// have the lock meanwhile, so it is run beside the schedule, as a tick that is owed. What somebody has asked for
// replaces others all the same.
func (p *InFlight) delay() {
	p.Patient = true
	p.Backlog = p.Backlog || !p.Run.isAskedFor()
}

// Span is a range of ticks: those after From, up to and including To.
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

// ClaimStatus is the result of a claim.
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

// Heartbeat extends the lease of a session.
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
	Orphans []InFlight // some thousands at most; the next heartbeat returns others, whether these were taken or not
	Notices []Notice   // for runs that the session owns or has owned; they are repeated until the run has ended
	Stamp   string     // for the next heartbeat
	// the store does not know of the heartbeat that gave Heartbeat.Stamp: it has lost data, or is a copy from before. It is
	// false if that was so long ago, a day at least, that the store has forgotten the session
	Lost   bool
	Pauses []PauseState // of all jobs that were ever paused, if they may have changed since the last heartbeat
	Over   []string     // those in Heartbeat.Waiting that do not wait
	// one-off jobs whose time comes within the horizon, the next first, some thousands at most: of more the first ones, and
	// others in each heartbeat
	Due []OneOff
}

// CancelledError says that somebody has asked for a run to end.
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

// Memory is what a session knows of the data that the store has lost.
type Memory struct {
	Pauses   []PauseState
	InFlight []InFlight    // runs of the session
	Lease    time.Duration // of the session
	Waiting  []OneOff
	Past     []string // IDs of one-off jobs
}

// Notice tells the owner of a run that the run must end.
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

// Compare orders one-off jobs by their time, and jobs of the same time by their ID.
func (o OneOff) Compare(other OneOff) int {
	return cmp.Or(o.At.Compare(other.At), cmp.Compare(o.ID, other.ID))
}
