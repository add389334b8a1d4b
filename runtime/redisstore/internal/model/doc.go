// Package model is the lock protocol as an executable specification: what the Lua scripts do to one lock ([Server]),
// what a client may do and believe ([State] and its [Event]s), and what must hold ([State.Check], [State.Rescue]).
//
// Every script is atomic, so all that can happen to one lock is an order of scripts, lost and late messages and
// passing time. [Explore] walks all of it within bounds. The tests of package redisstore replay walks through the same
// states against a real server and the real scripts.
//
// # Time
//
// Time passes in ticks, and a lease lasts TTL of them or fewer. Whatever holds a moment holds its distance from now
// instead, cut off where it makes no difference any more, so the states are finitely many however long a walk is.
//
// All clocks run equally fast. The client subtracts a margin from its deadline, so within the tick in which both end a
// lease it comes before the server. A paused process is one whose events do not happen while ticks do.
//
// # Leases
//
// A lease is one use of a lease id: it is asked for, perhaps waited for, held and given back, once. The waiting caller
// may change: then the next caller of the process asks with the same id. Several leases may belong to one process. A
// process is what dies, what is subscribed, and what shows that it lives.
//
// # Requests
//
// A request is executed at once, late, or never, and its answer may be lost. A client without an answer asks again,
// which leaves the first request under way. An acquire that is executed after its latest moment changes nothing. So a
// lease that is taken back once more after the latest moment of all its attempts is gone for good.
//
// # Breaks
//
// A Break names the lease and the epoch that its sender saw. It is executed now, later, twice or never. It marks the
// lock; the holder's process is told, ends the lease, and gives it back. By force it hands the lock on at once: then
// two leases may believe that they hold it, until the one that was ended hears of it.
//
// Pushes come on the subscription of a process. When it is cut, pushes under way are lost, and so is what is pushed
// until the process subscribes again. Then the process checks what it holds, and what answers under way grant to it.
//
// # Kinds
//
// A lease writes, reads, or takes one of a number of permits. Readers share the lock, and so do permits, up to as many
// as the last to come allows. All wait in one queue. A node of the version before that knows none of this: its scripts
// are those of the exclusive lease, for which a lock that is shared is a lease of somebody else, and a reader at the
// head of the queue one that gets the lock alone.
//
// # Epochs
//
// Only the order of epochs matters, so they are numbered anew in each state. The server's clock is assumed to be behind
// the floor, which is the worst case: then the floor alone makes epochs grow.
package model

const (
	// MaxLeases and MaxProcs bound the arrays of a [State].
	MaxLeases = 4
	MaxProcs  = 4

	// All in ticks: TTL is how long a lease lasts, Keep how long MinHold keeps the lock after it, Liveness how long a
	// process that has shown itself counts as live, Latest how long after it was sent an acquire may act.
	TTL      = 2
	Keep     = 1
	Liveness = 1
	Latest   = 2

	runs = 2 // how often one Break may be executed, because it may be late and repeated

	pushes = 2 // grants of one lease that can be under way at once; older ones get lost
)
