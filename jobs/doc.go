// Package jobs runs scheduled jobs on a cluster: every tick of a schedule on exactly one node, one run at a time.
//
// A [Scheduler] on every node is given the same jobs and the same stores: one for locks (package lockrt) and one for
// what the nodes must agree on, a [Store], by default beside the locks. There is no leader; any node may die.
//
// # A run
//
//	           due on the store's clock            locks taken, begin noted
//	tick ──────────────────────────────▶ claimed ──────────────────────────▶ started
//	  │  one node wins: the cursor moves   │  │                                │  │
//	  │  and the claim stands, one step    │  │                                │  ├─▶ ok  error  panic  timeout
//	  │                                    │  ├─▶ skipped (held by …)          │  ├─▶ lost       (its lock)
//	  └─▶ skipped (misfire, paused)        │  └─▶ passed on (drain)            │  └─▶ cancelled  (drain, by hand)
//	                                       ▼                                   ▼
//	                            its node died: lost,                its node died: lost,
//	                            claimed again at once               claimed again while Retries are left
//
// For each job the store keeps the cursor: all ticks up to this scheduled time are decided. A node that believes that a
// tick is due asks the store to move the cursor to that tick, from where the node last saw it. The store does so if the
// cursor is still there and the tick is due by the store's own clock. In the same step it puts the run in flight, so no
// crash can come between the two. A node that asks later finds another cursor and goes on from there. Cursors are
// scheduled times and only grow. So a tick does not run twice because of clocks that differ, a job that ends before the
// next node asks, or two versions of a spec in a rolling deploy.
//
// # What is in force
//
// Nodes register their jobs in the store, with spec, zone and policies. The store numbers the definitions in the order
// in which it first sees them. The newest definition that a live node has is in force, and the store keeps since when
// its spec and zone are in force. A tick is owed if it was due and is not decided yet. Under a new spec or zone nothing
// before that moment is owed. What was due before it and is not decided is owed under the old one, by the policy of the
// job. A node with an older definition leaves the job's ticks to the others, also after a restart. It asks after each tick
// how far they are, and takes the ticks on again when the last node with a newer definition has gone. A job that no node has for a day, while nodes of its
// program live, counts as removed: when it comes back, nothing of the time since then is owed. A custom Schedule has no
// text; a change of it is not noticed.
//
// Some ticks are stored as owed in the store: missed ticks that must each be run, and ticks that are late within their
// grace where several would collide. Owed ticks run one after another. They run beside the ticks on time, which follow
// the cursor.
//
// A job belongs to a program, the main module. While a node of one program has the job, another program in the
// namespace cannot register a job of the same name: see [Scheduler.Err]. Only nodes of the program that a run was
// claimed or requested for make the run. If the name has gone to another program since, the run ends without having
// run.
//
// A run in flight belongs to its node's session. The node sends one heartbeat for all of its runs every second
// (Config.Heartbeat). When five heartbeats have been missed, another node that has the job takes the run over. That
// node must itself have been in touch with the store for as long, and the job's locks must not be held in the dead
// node's name any more. See Job.Lock for how long that may take, and Job.Retries for what happens then. A node that
// shuts down says so, and its remaining runs are picked up within seconds.
//
// When thousands of jobs are due together, one call claims some hundreds of ticks. A node that loses a claim learns the
// new cursor from the same answer. Each node begins with its own share of the jobs, and looks after the shares of the
// others a moment later. Starts and records of concurrent runs share calls too.
//
// A store may consist of parts. A part may be down while the others answer: a server of a Redis Cluster, if
// cluster-require-full-coverage is off, and until a replica has been promoted. Each part has its own loop, heartbeats
// and back-off. So the jobs in the other parts go on, if the servers of their locks answer as well. See
// [Scheduler.Err].
//
// # From any node
//
// [Scheduler.Pause], Resume, RunNow, Cancel, Status, Nodes, FindRun and the like work in the whole cluster from any
// scheduler on the same store, also from one that does not run. [Scheduler.At] schedules one-off jobs.
//
// # What is guaranteed
//
//   - One claim per job and tick, decided by the store. A tick that was claimed and is not known to have begun is run
//     by another node if its own dies, ten times at most.
//   - A run that has begun is not begun again unless Job.Retries says so. With Retries its work must be safe to repeat,
//     as with any retry.
//   - Under the default locks one run of a job at a time in the whole cluster. A run whose lock is lost has its context
//     cancelled before another can begin, and is recorded as lost whatever it returns. A run that ignores its context
//     can still overlap; the fence in its context (lockrt.FromContext) lets what it writes to tell the two apart.
//   - Job.Misfire decides, from the cursor, about what was due while no node ran or the store did not answer. When a
//     job's name is seen for the first time, nothing before that moment is owed.
//   - Every tick leaves a record: one of each attempt, or one that says why it was not run. If the lock was held, the
//     record names the holder; if the store did not answer, the record says that instead. Ticks that are skipped for
//     the same reason share a record until a run ends, whichever nodes skipped them. It says "skipped n ticks" by
//     Run.Ticks, First and Tick. The newest Config.History records of each job are kept.
//   - A cancelled run is not retried. If it has not begun, it does not begin on any node. If it ended before its node
//     learned of the request, its record says who asked.
//   - User code does not end the process by what it returns, panics with, logs or schedules. Where it is asked for a
//     text or a time, it delays the scheduler by a second at most; the goroutine of a method that does not return stays
//     behind. Faults that Go itself does not survive end the process: a full stack, concurrent writes to a map, running
//     out of memory.
//   - No record is lost because the store does not answer: a live node delivers it when the store is back, and its runs
//     are not taken over before that.
//   - What is left of a job that no node has any more (runs in flight, a pause, one-off jobs for a handler) is shown as
//     orphaned by [Scheduler.ClusterJobs]. Cancel, Resume and Withdraw can end it, and it ends by itself after a week.
//   - Times where clocks change follow internal/cronspec: a fixed time that is skipped runs at the first instant after
//     the gap, one that is repeated at its first occurrence; wildcard hours follow elapsed time.
//
// # What is not
//
//   - Exactly once. If a node dies after the work and before its record, the run looks unfinished: it is recorded as
//     lost, and run again if Retries allow.
//   - Once, when the store loses data (FLUSHALL, a restart without persistence, a failover to a replica that lags, a
//     restored backup): then it is at least once, for what a living node knows of. Nodes notice within a heartbeat, by
//     a stamp in the store and by cursors that have fallen back; they log it, register all jobs again with the highest
//     cursor that any of them knows, put back pauses, resumes, the one-off jobs that they have put or that are soon
//     due, and their runs, and claim nothing for a lease. If the store has forgotten all, no node claims before it has
//     noticed. If it is an older state, a node may until its next heartbeat claim a tick that another one has claimed
//     since without its knowledge, a tick of a job that another one has paused in the second before, or what was due in a pause that another one has ended in that second. A
//     one-off job that somebody withdrew in that second may be put back. What no
//     running node knows is lost: the records, one-off jobs that were put by others and are not due soon, runs that
//     wait for any node, the cursors of jobs that no running node has. What a node that is dead did since the older
//     state may be done again. A loss of less than the time between two heartbeats is noticed only if it took a claim,
//     or a node's last heartbeat, with it.
//   - Punctuality. A tick starts late by a round trip or two, by Jitter, by the wait for a lock, and by the time that
//     the store does not answer.
//   - One clock in a Redis Cluster: each job and its records use the clock of the server that has its slots. Keep the
//     clocks in step: when two differ by half a second or more, the log says so.
//   - Order between ticks of a job. Only claims are made in order, and owed ticks wait for each other.
//   - Progress of a tick whose job is on no running node: its run stays in flight until a node has the job again, or
//     the week is over.
package jobs
