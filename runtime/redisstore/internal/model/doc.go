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
// instead, cut off where it makes no difference any more, so that the states are finitely many however long a walk is.
// All clocks run equally fast; that the client gives away a margin is what makes its deadline come first within the tick
// in which both it and the server end a lease. A paused process is one whose events do not happen while ticks do.
//
// # Leases
//
// A lease is one use of a lease id: it is asked for, perhaps waited for, held, given back, once. The caller who waits may
// change: the next of the process then asks with the same id. Several leases may belong to one process; a process is
// what dies, what is subscribed, and what shows that it lives.
//
// # Requests
//
// A request is executed at once, late, or never, and its answer may be lost. A client without an answer asks again,
// which leaves the first request under way. An acquire refuses itself when it is executed after its latest moment; so a
// lease that is taken back once more after the latest moment of all its attempts is gone for good.
//
// # Breaks
//
// A Break names the lease and the epoch that somebody saw. It is executed now, later, twice or never. It marks the lock;
// the holder's process is told, ends the lease, and gives it back. By force it hands the lock on at once: then two
// leases may believe that they hold it, until the one that was ended hears of it.
//
// Pushes come on the line of a process. One that is cut loses what is under way and what is pushed until the process
// subscribes again. Then it checks what it holds, and whatever an answer that was under way has given it.
//
// # Epochs
//
// Only the order of epochs matters, so they are numbered anew in each state. The server's clock is taken to be behind
// the floor, the worst case: then the floor alone makes epochs grow.
package model

const (
	// MaxLeases and MaxProcs bound the arrays of a [State].
	MaxLeases = 4
	MaxProcs  = 4

	// TTL is how many ticks a lease lasts, Keep how many MinHold adds in its place, Liveness how long a process that
	// has shown itself counts as live, Latest how many ticks after it was sent an acquire may still act.
	TTL      = 2
	Keep     = 1
	Liveness = 1
	Latest   = 2

	runs = 2 // how often one Break may be executed: it may be late, and it may be repeated

	pushes = 2 // grants of one lease that can be under way at once; older ones get lost
)
