package model

// None and Kept are owners that are no lease.
const (
	None int8 = -1
	Kept int8 = -2 // MinHold keeps the lock after its lease
)

// Server is what Redis knows of one lock. Its methods are the scripts.
type Server struct {
	Owner  int8  // a lease, None, Kept, Readers or Permits
	Epoch  uint8 // the owner's; readers share one, of permits it is the last
	Marked bool  // the owner is broken
	Left   int8  // ticks until the lock's key expires
	Given  int8  // for how many ticks it was granted
	Age    int8  // ticks since the grant, at most TTL
	Floor  uint8
	Queue  [MaxLeases]int8 // in order of arrival; the first Queued count, the others are 0
	Queued int8
	// Live is, by process, for how many more ticks it counts as live.
	Live [MaxProcs]int8
	// Hold is who shares the lock, if the owner is Readers or Permits. For other owners it has no meaning.
	Hold [MaxLeases]Share
	// TTL is how many ticks a lease lasts, and Kind what it asks for. Each request names both.
	TTL, Kind [MaxLeases]int8
	// Old is which processes have the scripts of before there were kinds. Their leases are writers.
	Old [MaxProcs]bool
	// Extra is how many more permits a fault has made.
	Extra int8
	// WaitersLeft is when the queue and the hash of waiters expire. 0 is no hash, negative is never.
	WaitersLeft int8
	// Issued is the highest epoch that was ever given. No script reads it; the floor must not be lower.
	Issued uint8
	// Ends is the number of ticks that a broken lease had left when it was marked. No script reads it.
	Ends int8
	// Fell is set when an epoch is given that is not higher than all before. Innocent is set when a Break changes a
	// lease that it does not name. Overtook is set when a newcomer gets a share although others wait.
	Fell, Innocent, Overtook bool
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
	Left   int8  // to a waiter: ticks until the lease in the way is over
}

// Push is what a script publishes: a grant if Epoch is not 0, else a loss or, with Poke, "ask again".
type Push struct {
	To     int8
	Epoch  uint8
	TTL    int8 // of a grant
	Poke   bool
	Recall bool // to a reader: a lease waits that cannot join
	Maybe  bool // whether it is sent depends on times shorter than a tick
}

// Protocol is the scripts as they are meant, or with a fault that the exploration has to find.
type Protocol struct {
	// Fault names what is wrong. If empty, nothing is. The test of the exploration has the list.
	Fault string
	// Proc tells which process each lease belongs to.
	Proc [MaxLeases]int8
	// Downgrades is whether writers may downgrade.
	Downgrades bool
	// Liveness is how many ticks a process that has shown itself counts as live. 0 is Liveness ticks.
	Liveness int8
}

// Tick lets a tick pass and removes what expires.
func (p *Protocol) Tick(s *Server) {
	for i := range s.Hold {
		h := &s.Hold[i]
		if h.Left == 0 {
			continue
		}
		h.Ends = max(h.Ends-1, 0)
		if h.Left--; h.Left == 0 {
			*h = Share{Epoch: h.Epoch, Slot: h.Slot, Stale: p.Fault == "expired share is renewed"}
		}
	}
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
