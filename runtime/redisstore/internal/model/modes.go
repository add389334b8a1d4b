package model

// What a lease asks for. A number above 0 is one of at most so many permits.
const (
	Writer int8 = 0
	Reader int8 = -1
)

// Owners that are no lease: several share the lock, and [Server.Hold] says who.
const (
	Readers int8 = -3
	Permits int8 = -4
)

// Share is one lease's share of a lock.
type Share struct {
	Left   int8 // ticks until it ends; 0 if the lease has no share
	Epoch  uint8
	Slot   int8 // the permit's slot
	Marked bool // an operator broke it
	Ends   int8 // in how many ticks a broken one was to end when it was marked. No script reads it.
	Kept   bool // MinHold keeps the slot after the lease
	Stale  bool // its end has passed and no script has removed it; used by one fault only
}

// Shared reports whether readers or permits have the lock.
func (s *Server) Shared() bool { return s.Owner == Readers || s.Owner == Permits }

// Holds reports whether a lease has a share of the lock.
func (s *Server) Holds(id int8) bool { return s.Shared() && s.Hold[id].Left > 0 && !s.Hold[id].Kept }

// mixed reports whether exclusive leases alone do not explain the state, or id is none: then acquire.lua and
// release.lua leave the work to acquire_shared.lua and release_shared.lua.
func (s *Server) mixed(id int8) bool {
	if s.Shared() || id >= 0 && s.Kind[id] != Writer {
		return true
	}
	for _, other := range s.Queue[:s.Queued] {
		if s.Kind[other] != Writer {
			return true
		}
	}
	return false
}

// AcquireShared is acquire_shared.lua, for a lease of any kind.
func (p *Protocol) AcquireShared(s *Server, id int8, wait bool) (Answer, []Push) {
	if a, ok := p.mine(s, id); ok {
		return a, nil
	}
	var pushed []Push
	if s.Queued > 0 && p.Fault != "barging" {
		pushed = p.admit(s, s.ends())
		if a, ok := p.mine(s, id); ok {
			return a, pushed
		}
	}
	overtakes := p.Fault == "readers overtake the queue" && s.Kind[id] == Reader
	if (s.Queued == 0 || overtakes) && p.fits(s, id) {
		s.Overtook = s.Overtook || s.Queued > 0
		p.join(s, id, s.TTL[id])
		a, _ := p.mine(s, id)
		return a, pushed
	}
	if wait {
		if s.place(id) < 0 {
			s.Queue[s.Queued] = id
			s.Queued++
			pushed = append(pushed, s.recall(id)...)
		}
		p.show(s, p.Proc[id])
	}
	return Answer{Left: s.ends().of(s.Kind[id])}, pushed
}

// mine is the answer to a lease that holds the lock, or has a share of it.
func (p *Protocol) mine(s *Server, id int8) (Answer, bool) {
	switch h := s.Hold[id]; {
	case s.Holds(id) && (s.Marked || h.Marked) && p.Fault != "broken lease is granted again by a poke":
		return Answer{Broken: true}, true
	case s.Holds(id):
		return Answer{OK: true, Epoch: h.Epoch, TTL: h.Left}, true
	case s.Shared() && h.Kept && h.Left > 0:
		return Answer{Late: true}, true // it was released
	case s.Owner != id:
		return Answer{}, false
	case s.Marked && p.Fault != "broken lease is granted again by a poke":
		return Answer{Broken: true}, true
	}
	return Answer{OK: true, Epoch: s.Epoch, TTL: s.Given, Age: s.Age}, true
}

// recall tells readers that a lease waits that cannot join them.
func (s *Server) recall(id int8) (pushed []Push) {
	if s.Owner != Readers || s.Kind[id] == Reader || s.Queued != 1 {
		return nil
	}
	for other := range s.Hold {
		if s.Holds(int8(other)) {
			pushed = append(pushed, Push{To: int8(other), Recall: true})
		}
	}
	return pushed
}

// ReleaseShared is release_shared.lua: it ends a lease of any kind, or keeps its slot for MinHold.
func (p *Protocol) ReleaseShared(s *Server, id int8, keep bool) (Answer, []Push) {
	before := s.ends()
	switch {
	case s.Owner == id && keep && !s.Marked:
		s.Owner, s.Left, s.Given = Kept, Keep, 0
		if s.Queued > 0 {
			return Answer{OK: true}, []Push{{To: s.Queue[0], Poke: true}}
		}
		return Answer{OK: true}, nil
	case s.Owner == id:
		p.free(s)
	case s.Holds(id) && keep && s.Owner == Permits && !s.Marked && !s.Hold[id].Marked:
		s.Hold[id].Left, s.Hold[id].Kept = Keep, true
		p.settle(s, Keep)
	case s.Holds(id):
		nobodyWaits := s.Owner == Readers && s.Queued == 0
		if p.leave(s, id); nobodyWaits {
			return Answer{OK: true}, nil // the script leaves the rest of the hash of waiters
		}
	case s.Owner == Permits && p.Fault == "double release frees another slot":
		s.Extra++
	default:
		return Answer{}, nil
	}
	return Answer{OK: true}, p.admit(s, before)
}

// leave ends a lease that has the lock, or a share of it.
func (p *Protocol) leave(s *Server, id int8) {
	if s.Owner == id {
		p.free(s)
		return
	}
	left := s.Hold[id].Left
	s.Hold[id] = Share{}
	p.settle(s, left)
}

// CancelShared is cancel.lua where not all leases are exclusive.
func (p *Protocol) CancelShared(s *Server, id int8) (Answer, []Push) {
	before, shared := s.ends(), s.Shared()
	if p.Fault != "cancel stays in the queue" {
		s.leave(id)
	}
	if (s.Owner == id || s.Holds(id)) && p.Fault != "cancel leaves the grant" {
		p.leave(s, id)
		return Answer{OK: true}, p.admit(s, before)
	}
	if !shared || p.Fault == "cancel does not admit" {
		return Answer{}, nil
	}
	return Answer{}, p.admit(s, before)
}

// RenewShared is renew_shared.lua for one lease.
func (p *Protocol) RenewShared(s *Server, id int8) Answer {
	h := &s.Hold[id]
	switch {
	case s.Shared() && h.Stale:
		h.Stale = false
	case !s.Holds(id):
		return Answer{}
	case (s.Marked || h.Marked) && p.Fault != "broken lease is renewed":
		return Answer{Broken: true}
	}
	h.Left = max(h.Left, s.TTL[id])
	p.settle(s, h.Left)
	return Answer{OK: true}
}

// Downgrade is downgrade.lua: it makes an exclusive lease a reader, with the epoch that it has or a fresh one.
func (p *Protocol) Downgrade(s *Server, id int8, fresh bool) (Answer, []Push) {
	switch {
	case s.Holds(id) && (s.Marked || s.Hold[id].Marked), s.Owner == id && s.Marked:
		return Answer{Broken: true}, nil
	case s.Holds(id) && p.Fault != "downgrade cannot be repeated":
		return Answer{OK: true, Epoch: s.Hold[id].Epoch}, nil
	case s.Owner != id:
		return Answer{}, nil
	}
	if before := s.ends(); p.Fault == "downgrade lets a writer in" {
		p.free(s)
		pushed := p.admit(s, before)
		if s.Owner == None {
			p.join(s, id, s.TTL[id])
		}
		return Answer{OK: true, Epoch: s.Epoch}, pushed
	}
	left, epoch := s.Left, s.Epoch
	if fresh {
		epoch = p.issue(s)
	}
	s.Owner, s.Epoch, s.Given, s.Age = Readers, epoch, 0, 0
	s.Hold = [MaxLeases]Share{}
	s.Hold[id] = Share{Left: left, Epoch: epoch}
	return Answer{OK: true, Epoch: epoch}, p.admit(s, s.ends())
}

// BreakShared is break.lua for one that has a share of the lock.
func (p *Protocol) BreakShared(s *Server, b Breaking) (Answer, []Push) {
	if b.Who < 0 {
		return Answer{}, nil
	}
	h := &s.Hold[b.Who]
	if !s.Shared() || h.Left == 0 || h.Epoch != b.Epoch {
		return Answer{}, nil
	}
	var pushed []Push
	if !h.Kept {
		pushed = append(pushed, Push{To: b.Who})
	}
	s.Floor = max(s.Floor, b.Epoch+1)
	if !b.Force && !h.Kept {
		if !h.Marked {
			h.Marked, h.Ends = true, h.Left
		}
		return Answer{OK: true}, pushed
	}
	before, left := s.ends(), h.Left
	*h = Share{}
	p.settle(s, left)
	return Answer{OK: true}, append(pushed, p.admit(s, before)...)
}

// breakOld is what break.lua of a node that knows no modes does to a lock that is shared: it takes all for one lease.
func (p *Protocol) breakOld(s *Server, b Breaking) (Answer, []Push) {
	if s.Owner != b.Who || s.Epoch != b.Epoch {
		return Answer{}, nil
	}
	s.Floor = s.Epoch + 1
	if b.Force {
		return Answer{OK: true}, p.release(s)
	}
	if !s.Marked {
		s.Marked, s.Ends = true, s.Left
	}
	return Answer{OK: true}, nil
}
