package model

// Acquire is acquire.lua. wait is whether liveness is not 0, late whether its latest moment has passed.
func (p *Protocol) Acquire(s *Server, id int8, wait, late bool) (Answer, []Push) {
	var pushed []Push
	if late && p.Fault != "late acquire acts" {
		return Answer{Late: true}, nil
	}
	if !s.Old[p.Proc[id]] && s.mixed(id) {
		return p.AcquireShared(s, id, wait)
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
	if !s.Old[p.Proc[id]] && s.mixed(id) {
		return p.ReleaseShared(s, id, keep)
	}
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
	if !s.Old[p.Proc[id]] && s.mixed(id) {
		return p.CancelShared(s, id)
	}
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
	if !s.Old[p.Proc[id]] && s.Owner != id && s.Shared() && (s.Kind[id] != Writer || p.Fault != "renewal does not follow the downgrade") {
		return p.RenewShared(s, id)
	}
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

// Held is the script that tells whether a lease holds the lock.
func (p *Protocol) Held(s *Server, id int8) Answer {
	mine, marked := s.Owner == id || s.Holds(id), s.Marked || s.Holds(id) && s.Hold[id].Marked
	return Answer{OK: mine && !marked, Broken: mine && marked}
}

// Alive is alive.lua.
func (p *Protocol) Alive(s *Server, proc int8) Answer {
	owner := s.Owner >= 0 && p.Proc[s.Owner] == proc && p.Fault != "owners are not told by showing life"
	for i := range s.Hold {
		owner = owner || s.Holds(int8(i)) && p.Proc[i] == proc && p.Fault != "owners are not told by showing life"
	}
	owner = owner && !(s.Old[proc] && s.Shared())
	if s.Queued > 0 {
		p.show(s, proc)
		return Answer{OK: true, Owner: owner, Left: p.wayOff(s, proc)}
	}
	if owner {
		return Answer{Owner: true}
	}
	return Answer{}
}

// wayOff is how long alive.lua says that the lease in the way lasts. A shared lock may last without an end, if its
// holders renew it. So a waiter behind a dead one asks at once. So does a waiter that fits: a node without kinds has
// left it there.
func (p *Protocol) wayOff(s *Server, proc int8) int8 {
	if !s.Shared() || s.Queued == 0 || s.Old[proc] {
		return s.Left
	}
	head := s.Queue[0]
	if s.Live[p.Proc[head]] == 0 && p.Fault != "dead writer at the head blocks" {
		return 0
	}
	if p.fits(s, head) && p.Fault != "old cancels keep readers waiting" {
		return 0
	}
	return s.ends().of(s.Kind[head])
}

// Break is break.lua.
func (p *Protocol) Break(s *Server, b Breaking) (Answer, []Push) {
	switch {
	case b.Who == Readers || b.Who == Permits:
		return p.breakOld(s, b)
	case s.Shared():
		return p.BreakShared(s, b)
	}
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

		if before := s.ends(); s.mixed(None) {
			p.free(s)
			return Answer{OK: true}, append(pushed, p.admit(s, before)...)
		}
		return Answer{OK: true}, append(pushed, p.release(s)...)
	}
	if !s.Marked {
		s.Marked, s.Ends = true, s.Left
	}
	return Answer{OK: true}, pushed
}
