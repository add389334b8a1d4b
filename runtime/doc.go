// Package lockrt acquires and keeps distributed locks. The wrappers that lockgen generates call it, and it can be used
// by hand. Its folder is runtime, so name it in the import:
//
//	import lockrt "github.com/lockgen/lockgen/runtime"
//
// A [Locker] gives out leases on keys of one [Store]. A lease ends by itself: if a holder dies, its lock is free after
// Options.TTL at the latest. While its holder is alive, the lease is renewed. When the Locker can no longer be certain
// of the lock, it cancels the context of the lease.
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
//   - At most one live lease per key, as far as the store keeps its own promises; of readers and of permits as many as
//     may hold the key together, see below. A lease is over at its deadline whatever the network does. Two contexts of
//     one key that exclude each other are never alive at the same time. This includes hand-offs and [Locker.Break]:
//     Break marks the lease, its process ends it and confirms that, and then the lock passes on, at the latest at the
//     lease's deadline. Only [Locker.Force], for a holder that is dead, does not wait for that.
//   - No blind time: [Lease.Context] ends no later than TTL minus a margin (2 % of it, from 2 ms to 5 s) after the last
//     acknowledged acquire or renewal was sent, by a local timer on the monotonic clock that no call in flight can delay.
//     Its Err looks at the clock, not only at the timer.
//   - [Lease.Release] compares the owner, also works after the caller's context has ended, and may be repeated.
//   - An Acquire whose answer was lost leaves nothing behind: it is repeated under the same lease id, or cancelled. A
//     request that reaches the store too late has no effect.
//   - A [Fence] is greater than that of every earlier lease on the key in any process. Readers that hold the key
//     together share one. Among leases of permits that holds for each slot.
//   - Waiting is first come, first served over all processes, by the first waiter of each process. A process has one
//     place in the store's queue, off by at most Config.LocalHandoffTime. Its first waiter uses that place. A waiter
//     that gives up leaves it to the next one. When the place has been used, the next one is at the end of the queue.
//     Within a process a lease may pass from caller to caller Config.LocalHandoffs times or for Config.LocalHandoffTime
//     before it goes back to the queue. So callers of other processes that came later may overtake a caller while
//     others of its own process are before it. No waiter starves. With negative LocalHandoffs every caller has a place
//     of its own.
//   - A waiter that gives up does not delay others. A waiter that dies delays others for one lease, or for the time in
//     which the store notices the death, whichever is longer.
//   - A store that is down is distinguished from a lock that is held: ErrBusy requires a live lease in this process or
//     the store's answer that somebody holds the lock. Every other error wraps its cause. A time limit of this package
//     never looks like one of the caller.
//   - Every call ends within its wait and within 100 ms of the end of its context. A call without either ends 5 s after
//     a request that the store does not answer. A waiting call repeats its request from time to time, on Redis every
//     redisstore.Config.Liveness/3.
//   - Nothing outlives [Locker.Close] except calls that the store does not answer. Those end after 5 s. An uncontended
//     Acquire starts no goroutine.
//
// # Readers, writers and permits
//
// Options.Mode and Options.Permits say who may hold a key together: one writer alone, readers, or so many permits. The
// three kinds exclude each other. They wait in one queue in the order of arrival. The first in it enters while it fits:
// a reader beside readers, a permit while fewer than its own Options.Permits hold the key. Nobody overtakes it. So
// adjacent readers enter together, and neither readers nor writers starve. Each lease ends alone: a process that dies
// frees its share after its TTL, and a second release changes nothing.
//
//   - A reader cannot become a writer ([ErrUpgrade]): two of them would wait for each other. [Lease.Downgrade] makes a
//     writer a reader without a moment in between.
//   - Readers share a fence and only compare it (fence.Check). The fences of permits grow per slot ([Lease.Slot]), and
//     so they are guarded per slot (fence.GuardLease does that).
//   - The readers of one process share one holder at the store and its renewals, and end together if that is lost. A
//     reader joins without a round trip, unless somebody waits here or the store has said that somebody waits
//     elsewhere, and for at most Config.LocalHandoffTime after the grant. Then readers ask the store, which may let
//     them in beside the others.
//   - Permits pass from caller to caller of a process as exclusive leases do. A passing permit makes the holders no
//     more, also where they have different Options.Permits.
//
// A store that has exclusive locks only refuses the rest with errors.ErrUnsupported; see [Sharer].
//
// # What no lock can guarantee
//
// A paused process (garbage collection, a frozen virtual machine) does not notice that its lease has expired until it
// continues. Then its context is cancelled, but a write may already be under way. Send the fence with every write, and
// let the resource refuse a lower fence than it has seen: package fence does that for SQL, Redis and HTTP.
//
// A store that loses data (FLUSHALL, a Redis failover) may grant a lock twice. The earlier holder learns that at its
// next renewal. The later holder has the higher fence.
//
// No wall clock is compared with another, but time must pass equally fast here and at the store. If the local clock is
// slower by more than the margin, a holder believes in its lease for too long. The same holds for a machine that
// sleeps, because the monotonic clock of Linux stops meanwhile; its leases are lost at their next renewal. Fences hold
// in both cases, unless the store has lost the last fence and its clock is set back behind that fence.
//
// # How it works
//
// Options say how one lock is kept. A grant (grant.go) is what the store gave, and until when it is certain. One
// goroutine per Locker renews all grants in batches (renew.go). One timer ends grants at their deadline (expirer.go).
// It waits for no call, so a store that does not answer cannot hide the end of a lease. Callers of one process that
// want the same key stand in a local queue (localqueue.go). One of them at a time asks the store. The leases of readers
// that share a grant are a batch (batch.go).
package lockrt
