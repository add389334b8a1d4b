package model

// Phase is how far a lease has come.
type Phase uint8

// The phases of a lease.
const (
	New        Phase = iota
	Asking           // its first request is under way
	Waiting          // the server said that it is in the queue
	Refreshing       // the grant came late, so the lease is renewed before it is used
	Holding          // its owner believes that it holds the lock, until Left ticks from now
	Releasing
	Cancelling // given up; being taken back in the background
	Doubting   // taken back once; a late request may still act, so it is taken back again
	Over
)

func (p Phase) String() string {
	return [...]string{"new", "asking", "waiting", "refreshing", "holding", "releasing", "cancelling", "doubting", "over"}[p]
}

// Kind is a script that a lease calls.
type Kind uint8

// The kinds of a [Call].
const (
	NoCall        Kind = iota
	Try                // acquire.lua without a place in the queue
	Ask                // acquire.lua with one; also the poke
	Renew              // renew.lua
	Release            // release.lua
	Retain             // release.lua with MinHold left
	Cancel             // cancel.lua
	Held               // held.lua
	ShowLife           // alive.lua, for a process
	Break              // break.lua
	Downgrade          // downgrade.lua
	DowngradeAnew      // the same, with a new epoch
)

func (k Kind) String() string {
	return [...]string{"nothing", "try", "ask", "renew", "release", "retain", "cancel", "held", "alive", "break", "downgrade",
		"downgrade with a new epoch"}[k]
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
	Epoch uint8 // 0 if there is no grant
	TTL   int8  // for how many ticks the server gave it
	Age   int8  // ticks since the grant, at most TTL
}

// Late is a request that its sender has given up and that may still arrive.
type Late struct {
	Kind Kind
	Sent int8 // of an acquire: ticks since it was sent, at most Latest
}

// Lease is one use of a lease id, as its process sees it, and what the network holds of it.
type Lease struct {
	Phase Phase
	Call  Call
	Late  Late
	// Skew is how many ticks too early this process dates the server's grants. It learns the server's clock from the
	// answer to a request, and knows when it sent the request, not when the server read its clock.
	Skew   int8
	Asks   int8 // ticks until a waiting lease asks again by itself
	Left   int8
	Epoch  uint8
	Pushed [pushes]Grant
	Lost   bool // the push that tells of a Break is under way
	Told   bool // that push came before the process knew of the grant
	Reads  bool // a downgrade was asked for
	Check  bool // the process has subscribed again, and has not asked since whether it holds the lock
	// Doubt is one more than the ticks until the last acquire without an answer can no longer act. It is 0 if all were
	// answered, or if the lease was taken back or wanted after that moment.
	Doubt int8
	// Forced is the last epoch that was ended by force. The server and the process may disagree about it and about
	// earlier ones.
	Forced uint8
	// Loose is set when the two may disagree until the lease's TTL is over, because nothing takes the lease back: its
	// process has died, or has given up after too long without an answer. Or the lease was ended by force, and a late
	// duplicate of its own request asks for the lock anew: then a check by its id says that it holds the lock.
	Loose bool
}
