package model

// Phase is how far a lease has come.
type Phase uint8

// The phases of a lease.
const (
	New        Phase = iota
	Asking           // its first request is under way
	Waiting          // the server said that it is in the queue
	Refreshing       // granted late: renewed before it is used
	Holding          // its owner believes that it holds the lock, until Left ticks from now
	Releasing
	Cancelling // given up; being taken back in the background
	Doubting   // taken back, while a request may still be under way and act: it will be taken back again
	Over
)

func (p Phase) String() string {
	return [...]string{"new", "asking", "waiting", "refreshing", "holding", "releasing", "cancelling", "doubting", "over"}[p]
}

// Kind is a script that a lease calls.
type Kind uint8

// The kinds of a [Call].
const (
	NoCall   Kind = iota
	Try           // acquire.lua without a place in the queue
	Ask           // acquire.lua with one; also the poke
	Renew         // renew.lua
	Release       // release.lua
	Retain        // release.lua with MinHold left
	Cancel        // cancel.lua
	Held          // does the lease still hold the lock?
	ShowLife      // alive.lua, for a process
	Break         // break.lua
)

func (k Kind) String() string {
	return [...]string{"nothing", "try", "ask", "renew", "release", "retain", "cancel", "held", "alive", "break"}[k]
}

// Call is a request and, once it was executed, its reply.
type Call struct {
	Kind   Kind
	Done   bool // executed; what follows but Sent is the reply
	Sent   int8 // ticks since it was sent, at most TTL
	Skew   int8 // what Sent was when it was executed
	Answer Answer
}

// Grant is a pushed grant under way.
type Grant struct {
	Epoch uint8 // 0: there is none
	TTL   int8  // for how many ticks the server gave it
	Age   int8  // ticks since then, at most TTL
}

// Late is a request that its sender has given up, but the network has not.
type Late struct {
	Kind Kind
	Sent int8 // of an acquire: ticks since it was sent, at most Latest
}

// Lease is one use of a lease id, as its process sees it, and what the network holds of it.
type Lease struct {
	Phase Phase
	Call  Call
	Late  Late
	// Skew is how many ticks earlier than in truth this process dates the server's grants: it knows when it sent the
	// request that the server's clock came back with, not when the server read that clock.
	Skew   int8
	Asks   int8 // waiting: ticks until it asks again by itself
	Left   int8
	Epoch  uint8
	Pushed [pushes]Grant
	Lost   bool // the push that tells of a Break is under way
	Told   bool // that push came before the grant was known
	Check  bool // the process has subscribed again and has not learnt since whether it still holds the lock
	// Doubt is one more than the ticks until the last acquire without an answer can act no longer; 0: all were answered,
	// or after that moment the lease was taken back, or was wanted.
	Doubt int8
	// Forced is the last epoch that was ended by force: the server and the process may rightly disagree about it and those
	// before.
	Forced uint8
	// Loose is set when the two may rightly disagree for longer. Nobody tries to take the lease back any more: its process
	// has died, or has had no answer for longer than it has patience. Or it was ended by force, and a late duplicate of
	// its own request asks for the lock anew: whoever then checks it by its id is told that it holds the lock.
	Loose bool
}
