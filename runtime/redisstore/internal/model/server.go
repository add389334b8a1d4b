package model

// None and Kept are owners that are no lease.
const (
	None int8 = -1
	Kept int8 = -2 // MinHold keeps the lock for nobody
)

// Server is what Redis knows of one lock. Its methods are the scripts.
type Server struct {
	Owner  int8  // a lease, None or Kept
	Epoch  uint8 // the owner's
	Marked bool  // the owner is broken
	Left   int8  // ticks until the lock's key expires
	Given  int8  // for how many ticks it was granted
	Age    int8  // ticks since the grant, at most TTL
	Floor  uint8
	Queue  [MaxLeases]int8 // in order of arrival; the first Queued count, the others are 0
	Queued int8
	// Live is for each process how long it still counts as live.
	Live [MaxProcs]int8
	// TTL is how many ticks a lease lasts: each request names its own.
	TTL [MaxLeases]int8
	// WaitersLeft is when the queue and the hash of waiters expire; 0: there is no hash, negative: never.
	WaitersLeft int8
	// Issued is the highest epoch that was ever given. No script reads it: it is what the floor should remember.
	Issued uint8
	// Ends is in how many ticks a broken lease was to end when it was marked. No script reads it.
	Ends int8
	// Fell is set when an epoch is given that is not higher than all before, Innocent when a Break changes something
	// about a lease that it does not name.
	Fell, Innocent bool
}

// Answer is what a script replies.
type Answer struct {
	OK     bool  // granted, renewed, released, …
	Late   bool  // an acquire came too late and has changed nothing
	Broken bool  // the lease holds the lock and is broken
	Owner  bool  // to a process that shows life: one of its leases holds the lock
	Epoch  uint8 // of a grant
	TTL    int8  // of a grant, how many ticks it was given
	Age    int8  // ticks since a grant
	Left   int8  // to those who wait: ticks until the lease in the way is over
}

// Push is what a script publishes: a grant if Epoch is not 0, else a loss or, with Poke, "ask again".
type Push struct {
	To    int8
	Epoch uint8
	TTL   int8 // of a grant
	Poke  bool
	Maybe bool // it depends on what is shorter than a tick
}

// Protocol is the scripts as they are meant, or with a fault that the exploration has to find.
type Protocol struct {
	// Fault is what is wrong; nothing if it is empty. See the test of the exploration for the list.
	Fault string
	// Proc tells which process each lease belongs to.
	Proc [MaxLeases]int8
	// Liveness is how many ticks a process that has shown itself counts as live; 0: Liveness ticks.
	Liveness int8
}

// Tick lets time pass: what expires is gone.
func (p *Protocol) Tick(s *Server) {
	if s.Owner != None {
		s.Age, s.Ends = min(s.Age+1, TTL), max(s.Ends-1, 0)
		if s.Left--; s.Left == 0 {
			p.free(s)
		}
	}
	for i := range s.Live {
		s.Live[i] = max(s.Live[i]-1, 0)
	}
	if s.WaitersLeft > 0 {
		if s.WaitersLeft--; s.WaitersLeft == 0 {
			s.Queue, s.Queued = [MaxLeases]int8{}, 0
		}
	}
}
