// Package jobs runs scheduled jobs on a cluster: every tick of a schedule on exactly one node, one run at a time.
//
// A [Scheduler] on every node is given the same jobs and the same stores: one for locks (package lockrt) and one for
// what the nodes must agree on, a [Store], by default beside the locks. There is no leader; any node may die.
//
// # A run
//
//	           due on the store's clock            locks taken, begin noted
//	tick ──────────────────────────────▶ claimed ──────────────────────────▶ started
//	  │  one node wins: the mark moves     │  │                                │  │
//	  │  and the claim stands, one step    │  │                                │  ├─▶ ok  error  panic  timeout
//	  │                                    │  ├─▶ skipped (held by …)          │  ├─▶ lost       (its lock)
//	  └─▶ skipped (misfire, paused)        │  └─▶ passed on (drain)            │  └─▶ cancelled  (drain, by hand)
//	                                       ▼                                   ▼
//	                            its node died: lost,                its node died: lost,
//	                            claimed again at once               claimed again while Retries are left
//
// Of each job the store keeps the mark: the scheduled time up to which all is decided. A node that believes a tick due
// asks the store to move the mark from where the node last saw it to that tick. The store does so if the mark is still
// there and the tick is due by its own clock, and in the same step puts the run in flight, so that no crash can lie
// between the two. Whoever comes second sees another mark and goes on from there. Since marks are scheduled times and
// only grow, neither clocks that are apart, nor a job that is over before the next node asks, nor two versions of a
// spec in a rolling deploy make a tick run twice.
//
// A run in flight belongs to its node's session, of which the node gives a sign of life every second (Config.Heartbeat):
// one call for all of its runs. When five have failed to come, any other node that has the job takes the run over, one of
// them, once the job's locks are not in the dead node's name any more (see Job.Lock for how long that may take, and
// Job.Retries for what happens then). A node that shuts down says so, and what it leaves is picked up within seconds.
//
// When thousands of jobs are due together, one call claims some hundreds of ticks, and those that lose learn the new
// marks from the same answer. The nodes then begin with shares of their own, and look after the others' shares a moment
// later; begins and records of concurrent runs share calls too.
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
//   - What was due while no node ran, or while the store was away, is decided by Job.Misfire from the mark. The first
//     time a job's name is seen nothing before that moment is owed.
//   - Every tick leaves a record: of each attempt, or of why it was not run. The record that the lock was held names
//     the holder; that the store did not answer is another one. Ticks that are skipped for the same reason share a
//     record until a run ends, whichever nodes skipped them: it says "skipped n ticks" by Run.Ticks, First and Tick. Of
//     each job the newest Config.History records are kept.
//   - A run that somebody has cancelled is not retried.
//   - Times where clocks change follow internal/cronspec: a fixed time that is skipped runs at the first instant after
//     the gap, one that is repeated at its first occurrence; wildcard hours follow elapsed time.
//
// # What is not
//
//   - Exactly once. A node that dies after the work and before its record leaves a run that looks begun: it is recorded
//     as lost, and run again if Retries allow.
//   - Anything, when the store forgets (a failover to a replica that lags, FLUSHALL): the mark may fall back, and ticks
//     after it count as missed.
//   - Punctuality. A tick starts late by a round trip or two, by Jitter, by the wait for a lock, and by however long
//     the store is away.
//   - One clock in a Redis Cluster: each job goes by the clock of the server that has its slots. Keep them in step.
//   - Order between ticks of a job, except that claims are made in order, and that the missed ones under MisfireAll
//     wait for each other.
//   - A tick whose job is on no running node is not looked after: its run stays in flight until a node has the job
//     again.
package jobs
