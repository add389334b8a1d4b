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
}

// Acquire is acquire.lua. wait is whether liveness is not 0, late whether its latest moment has passed.
func (p *Protocol) Acquire(s *Server, id int8, wait, late bool) (Answer, []Push) {
	var pushed []Push
	if late && p.Fault != "late acquire acts" {
		return Answer{Late: true}, nil
	}
	if s.Owner == None && s.Queued > 0 && p.Fault == "poke does not hand on" {
		return Answer{}, nil
	}
	if s.Owner == None && s.Queued > 0 && p.Fault != "barging" {
		pushed = p.handOn(s, 0)
	}
	if s.Owner == None {
		p.take(s, id, s.TTL[id])
		return Answer{OK: true, Epoch: s.Epoch, TTL: s.Given}, pushed
	}
	if s.Owner == id {
		if s.Marked && p.Fault != "broken lease is granted again by a poke" {
			return Answer{Broken: true}, pushed
		}
		return Answer{OK: true, Epoch: s.Epoch, TTL: s.Given, Age: s.Age}, pushed
	}
	if wait {
		if s.place(id) < 0 {
			s.Queue[s.Queued] = id
			s.Queued++
		}
		p.show(s, p.Proc[id])
	}
	return Answer{Left: s.Left}, pushed
}

// Release is release.lua, and retain.lua to keep the lock.
func (p *Protocol) Release(s *Server, id int8, keep bool) (Answer, []Push) {
	if s.Owner != id && (p.Fault != "release without owner" || s.Owner == None) {
		return Answer{}, nil
	}
	if keep && s.Marked {
		return Answer{OK: true}, p.release(s)
	}
	if keep {
		s.Owner, s.Left, s.Given = Kept, Keep, 0
		if s.Queued > 0 {
			return Answer{OK: true}, []Push{{To: s.Queue[0], Poke: true}}
		}
		return Answer{OK: true}, nil
	}
	if s.Queued > 0 {
		return Answer{OK: true}, p.release(s)
	}
	p.free(s)
	return Answer{OK: true}, nil
}

// Cancel is cancel.lua.
func (p *Protocol) Cancel(s *Server, id int8) (Answer, []Push) {
	if p.Fault != "cancel stays in the queue" {
		s.leave(id)
	}
	if s.Owner != id || p.Fault == "cancel leaves the grant" {
		return Answer{}, nil
	}
	return Answer{OK: true}, p.release(s)
}

// Renew is renew.lua for one lease.
func (p *Protocol) Renew(s *Server, id int8) Answer {
	switch {
	case s.Owner == None && p.Fault == "renewal revives":
		s.Owner, s.Age = id, 0
	case s.Owner != id:
		return Answer{}
	case s.Marked && p.Fault != "broken lease is renewed":
		return Answer{Broken: true}
	}
	s.Left = max(s.Left, s.TTL[id])
	return Answer{OK: true}
}

// Alive is alive.lua.
func (p *Protocol) Alive(s *Server, proc int8) Answer {
	owner := s.Owner >= 0 && p.Proc[s.Owner] == proc && p.Fault != "owners are not told by showing life"
	if s.Queued > 0 {
		p.show(s, proc)
		return Answer{OK: true, Owner: owner, Left: s.Left}
	}
	if owner {
		return Answer{Owner: true, Left: s.Left}
	}
	return Answer{}
}

// Held is the script that tells whether a lease holds the lock.
func (p *Protocol) Held(s *Server, id int8) Answer {
	mine := s.Owner == id
	return Answer{OK: mine && !s.Marked, Broken: mine && s.Marked}
}

// Break is break.lua.
func (p *Protocol) Break(s *Server, b Breaking) (Answer, []Push) {
	named := s.Owner == b.Who && s.Epoch == b.Epoch
	switch {
	case s.Owner == None, !named && p.Fault != "break names the key only" &&
		(s.Owner != b.Who || p.Fault != "break names no epoch"):
		return Answer{}, nil
	}
	s.Innocent = s.Innocent || !named
	var pushed []Push
	if s.Owner != Kept {
		pushed = append(pushed, Push{To: s.Owner})
	}
	if s.Floor = s.Epoch + 1; p.Fault == "break takes the epoch back" {
		s.Floor = s.Epoch - 1
	}
	if b.Force || s.Owner == Kept || p.Fault == "break hands on at once" {
		return Answer{OK: true}, append(pushed, p.release(s)...)
	}
	if !s.Marked {
		s.Marked, s.Ends = true, s.Left
	}
	return Answer{OK: true}, pushed
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

func (p *Protocol) take(s *Server, id, ttl int8) {
	s.Owner, s.Left, s.Given, s.Age = id, ttl, ttl, 0
	s.Epoch = s.Floor + 1
	s.Floor = s.Epoch
	s.Fell = s.Fell || s.Epoch <= s.Issued
	s.Issued = max(s.Issued, s.Epoch)
}

// release is the function of lib.lua.
func (p *Protocol) release(s *Server) []Push {
	left := s.Left
	p.free(s)
	return p.handOn(s, left)
}

// handOn is the function of lib.lua.
func (p *Protocol) handOn(s *Server, left int8) []Push {
	for s.Queued > 0 {
		id := s.Queue[0]
		live := s.Live[p.Proc[id]] > 0
		if !live || p.Fault != "granted waiter stays in the queue" {
			s.leave(id)
		}
		if live || p.Fault == "hand on to the dead" {
			// One that died before its turn blocks no longer than it counts as live.
			ttl := s.TTL[id]
			if live && p.Fault != "dead waiter gets a whole lease" {
				ttl = min(ttl, s.Live[p.Proc[id]])
			}
			p.take(s, id, ttl)
			pushed := []Push{{To: id, Epoch: s.Epoch, TTL: ttl}}
			if s.Queued > 0 && left >= ttl && (left > ttl || ttl < s.TTL[id]) {
				pushed = append(pushed, Push{To: s.Queue[0], Poke: true, Maybe: left == ttl})
			}
			return pushed
		}
	}
	s.WaitersLeft, s.Live = 0, [MaxProcs]int8{}
	return nil
}

func (p *Protocol) free(s *Server) {
	s.Owner, s.Epoch, s.Marked, s.Left, s.Given, s.Age, s.Ends = None, 0, false, 0, 0, 0, 0
	if p.Fault == "floor goes with the lock" {
		s.Floor = 0
	}
}

// show is what acquire.lua and alive.lua do for a process that waits.
func (p *Protocol) show(s *Server, proc int8) {
	if p.Fault == "queue without expiry" {
		s.Live[proc], s.WaitersLeft = Liveness, -1
		return
	}
	s.Live[proc], s.WaitersLeft = Liveness, 2*Liveness
}

// place returns the lease's place in the queue, negative if it has none.
func (s *Server) place(id int8) int {
	for i := range s.Queued {
		if s.Queue[i] == id {
			return int(i)
		}
	}
	return -1
}

func (s *Server) leave(id int8) {
	at := s.place(id)
	if at < 0 {
		return
	}
	copy(s.Queue[at:], s.Queue[at+1:])
	s.Queued--
	s.Queue[s.Queued] = 0
}
