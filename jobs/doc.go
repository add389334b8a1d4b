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
// Of each job the store keeps the cursor: the scheduled time up to which all is decided. A node that believes a tick
// due asks the store to move the cursor from where the node last saw it to that tick. The store does so if the cursor
// is still there and the tick is due by its own clock, and in the same step puts the run in flight, so that no crash
// can lie between the two. Whoever comes second sees another cursor and goes on from there. Since cursors are scheduled
// times and only grow, neither clocks that are apart, nor a job that is over before the next node asks, nor two
// versions of a spec in a rolling deploy make a tick run twice.
//
// # What is in force
//
// Nodes tell the store which jobs they have, with spec, zone and policies. Definitions are numbered in the order in
// which the store first sees them. The newest one that a living node has is in force, and the store keeps since when
// its spec and zone are so: under a new one nothing before that moment is owed, and what was due before it and is not
// decided is owed under the old one, by the policy of the job. A node with an older one leaves the job's ticks to the
// others, also when it is started again, and takes them up when the last node with a newer one has gone. A job that no
// node has for a day, while nodes of its program live, counts as removed: nothing of the time since then is owed when
// it comes back. A custom Schedule has no text; a change of it is not noticed.
//
// Ticks that were missed, and are to be run each, are put down in the store as owed, and so are ticks that are late
// within their grace where several would collide. What is owed is run one after another, beside the ticks on time,
// which go on by the cursor.
//
// A job belongs to a program, the main module. While a node of one program has it, another program that offers a job of
// the same name in the same namespace is refused it: see [Scheduler.Err]. A run is made by nodes of the program that it
// was claimed or asked for; if the name has gone to another program since, it ends without having run.
//
// A run in flight belongs to its node's session, of which the node gives a sign of life every second
// (Config.Heartbeat): one call for all of its runs. When five have failed to come, any other node that has the job
// takes the run over, one of them that has itself been in touch with the store for as long, once the job's locks are
// not in the dead node's name any more (see Job.Lock for how long that may take, and Job.Retries for what happens
// then). A node that shuts down says so, and what it leaves is picked up within seconds.
//
// When thousands of jobs are due together, one call claims some hundreds of ticks, and those that lose learn the new
// cursors from the same answer. The nodes then begin with shares of their own, and look after the others' shares a
// moment later; begins and records of concurrent runs share calls too.
//
// A store may consist of parts, of which one may be away while the others answer: the servers of a Redis Cluster, if
// its cluster-require-full-coverage is off, and until a replica has been promoted. Each has a loop, signs of life and a
// back-off of its own, so that the jobs in the other parts go on, if their locks are on servers that answer as well.
// See [Scheduler.Err].
//
// # From any node
//
// [Scheduler.Pause], Resume, RunNow, Cancel, Status, Nodes, FindRun and the like work in the whole cluster from any
// scheduler on the same store, also from one that does not run. [Scheduler.At] has one-off jobs done at a time.
//
// # What is guaranteed
//
//   - One claim per job and tick, decided by the store. A tick that was claimed and is not known to have begun is run
//     by another node if its own dies, ten times at most.
//   - A run that has begun is not begun again unless Job.Retries says so. With Retries its work must bear being done
//     twice, as with any retry.
//   - Under the default locks one run of a job at a time in the whole cluster. A run whose lock is lost has its context
//     cancelled before another can begin, and is recorded as lost whatever it returns. A run that ignores its context
//     can still overlap; the fence in its context (lockrt.FromContext) lets what it writes to tell the two apart.
//   - What was due while no node ran, or while the store was away, is decided by Job.Misfire from the cursor. The first
//     time a job's name is seen nothing before that moment is owed.
//   - Every tick leaves a record: of each attempt, or of why it was not run. The record that the lock was held names
//     the holder; that the store did not answer is another one. Ticks that are skipped for the same reason share a
//     record until a run ends, whichever nodes skipped them: it says "skipped n ticks" by Run.Ticks, First and Tick. Of
//     each job the newest Config.History records are kept.
//   - A run that somebody has cancelled is not retried, and does not begin if it has not, whatever node has it or gets
//     it. The record of one that ended before its node heard of it says who asked.
//   - What user code returns, panics with, logs or schedules ends no process, and holds the scheduler up for a second
//     at most, where it is asked for a text or a time: the goroutine of a method that does not return stays behind.
//     What Go itself does not survive ends the process: a full stack, concurrent writes to a map, running out of
//     memory.
//   - A store that is away costs no run its record: a node that lives delivers it when the store is back, and its runs
//     are not taken over before that.
//   - What is left of a job that no node has any more (runs in flight, a pause, one-off jobs for a handler) is shown by
//     [Scheduler.ClusterJobs] as orphaned, can be ended by Cancel, Resume and Withdraw, and ends by itself after a
//     week.
//   - Times where clocks change follow internal/cronspec: a fixed time that is skipped runs at the first instant after
//     the gap, one that is repeated at its first occurrence; wildcard hours follow elapsed time.
//
// # What is not
//
//   - Exactly once. A node that dies after the work and before its record leaves a run that looks begun: it is recorded
//     as lost, and run again if Retries allow.
//   - Once, when the store loses data (FLUSHALL, a restart without persistence, a failover to a replica that lags, a
//     restored backup): then it is at least once, for what a living node knows of. Nodes notice within a heartbeat, by
//     a stamp in the store and by cursors that have fallen back; they log it, register all jobs again with the highest
//     cursor that any of them knows, put back pauses, resumes, the one-off jobs that they have put or that are soon
//     due, and their runs, and claim nothing for a lease. If the store has forgotten all, no node claims before it has
//     noticed. If it is an older state, a node may until its next heartbeat claim a tick of a job that another one has
//     paused in the second before, or what was due in a pause that another one has ended in that second. A
//     one-off job that somebody withdrew in that second may be put back. What no
//     running node knows is lost: the records, one-off jobs that were put by others and are not due soon, runs that
//     wait for any node, the cursors of jobs that no running node has. What a node that is dead did since the older
//     state may be done again. A loss of less than the time between two heartbeats is noticed only if it took a claim,
//     or a node's last heartbeat, with it.
//   - Punctuality. A tick starts late by a round trip or two, by Jitter, by the wait for a lock, and by however long
//     the store is away.
//   - One clock in a Redis Cluster: each job goes by the clock of the server that has its slots, and so do its records.
//     Keep the clocks in step: when two are half a second apart or more, the log says so.
//   - Order between ticks of a job, except that claims are made in order, and that those that are owed wait for each
//     other.
//   - A tick whose job is on no running node is not looked after: its run stays in flight until a node has the job
//     again, or the week is over.
package jobs
