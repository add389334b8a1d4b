// Package lockrt acquires and keeps distributed locks. It is what the wrappers that lockgen generates call, and can be
// used by hand. It lives in the folder runtime, so name it where you import it:
//
//	import lockrt "github.com/lockgen/lockgen/runtime"
//
// A [Locker] gives out leases on keys of one [Store]. A lease ends by itself: a holder that dies frees the lock after
// Options.TTL at the latest. While its holder lives, the lease is renewed; when it can no longer be certain of the
// lock, its context is cancelled.
//
//	                Acquire                 renewed within TTL/3 of the last time
//	(no lease) ───────────────▶ (held) ◀────────────────────────────┐
//	     ▲                      │ │  └──────────────────────────────┘
//	     │        Release       │ │
//	     ├──────────────────────┘ │ deadline, MaxHold, Break, Close, or the store says "not yours":
//	     │                        ▼ the context is cancelled with ErrLost
//	     └──────────────────── (lost)
//	            Release
//
// # Guarantees
//
//   - At most one live lease per key, as far as the store keeps its own promises. A lease is over at its deadline
//     whatever the network does. Two contexts of one key are never alive at the same time, across hand-offs and
//     [Locker.Break] too: Break marks the lease, its process ends it and says so, then the lock goes on, at the latest
//     at the lease's deadline. Only [Locker.Force], for a holder that is dead, does not wait for that.
//   - No blind time: [Lease.Context] ends no later than TTL minus a margin (2 % of it, from 2 ms to 5 s) after the last
//     acknowledged acquire or renewal was sent, by a local timer on the monotonic clock that no call in flight can delay.
//     Its Err looks at the clock, not only at the timer.
//   - [Lease.Release] compares the owner, works after the caller's context has ended, and may be repeated.
//   - An Acquire whose answer was lost leaves nothing behind: it is repeated under the same lease id, or cancelled; and a
//     request that comes too late refuses itself.
//   - A [Fence] is greater than that of every earlier lease on the key, in whatever process.
//   - Waiting is first come first served over all processes, by their first waiters. A process has one place in the
//     store's queue, off by at most Config.LocalHandoffTime. Its first waiter uses that place; one that gives up leaves
//     it to the next. Once it is used, the next place is at the end of the queue. Within a process a lease may pass
//     from caller to caller Config.LocalHandoffs times or for Config.LocalHandoffTime before it goes back to the queue.
//     So a caller may be overtaken by later ones of other processes while others of its own process are before it, and
//     no waiter starves. With negative LocalHandoffs every caller has a place of its own.
//   - A waiter that gives up keeps nobody waiting. One that dies keeps others waiting for one lease, or for as long as
//     the store needs to notice the death, whichever is longer.
//   - A store that is down is told from a lock that is held: ErrBusy needs a live lease in this process or the store's
//     word that somebody holds the lock. Every other error wraps its cause, and a limit of ours never looks like one of
//     the caller's.
//   - Every call ends within its wait and within 100 ms of the end of its context. A call without either ends 5 s after
//     a question that the store does not answer. A wait asks again from time to time, on Redis every
//     redisstore.Config.Liveness/3.
//   - Nothing outlives [Locker.Close], except calls that the store does not answer: they end after 5 s. An uncontended
//     Acquire starts no goroutine.
//
// # What no lock can guarantee
//
// A process that is paused (garbage collection, a frozen virtual machine) does not notice that its lease has run out
// until it goes on; then its context is cancelled, but a write may already be under way. Send the fence along with
// writes and let the resource refuse a lower one than it has seen: package fence does that for SQL, Redis and HTTP.
//
// A store that forgets (FLUSHALL, a Redis failover) may grant a lock twice; the earlier holder learns that at its next
// renewal, and the fences tell who is the later.
//
// No wall clock is compared with another, but time has to pass equally fast here and at the store: a clock that is
// slower by more than the margin makes a holder believe in its lease for too long. So does a machine that sleeps,
// because the monotonic clock of Linux stands still meanwhile; its leases are lost at their next renewal. Fences hold
// in both cases, as long as the store's clock is not set back behind the last fence while the store has forgotten that.
//
// # How it works
//
// Options say how one lock is kept; grants, in grant.go, are what the store gave and until when it is certain. One
// goroutine per Locker renews all grants in batches (renew.go). One timer, which waits for no call, ends those whose
// deadline has come (expirer.go), so a store that does not answer cannot hide the end of a lease. Callers of one
// process that want the same key stand in a local queue (localqueue.go); one of them at a time asks the store.
package lockrt
