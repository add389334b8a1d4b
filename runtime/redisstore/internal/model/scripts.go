package model

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

// Held is the script that tells whether a lease holds the lock.
func (p *Protocol) Held(s *Server, id int8) Answer {
	mine := s.Owner == id
	return Answer{OK: mine && !s.Marked, Broken: mine && s.Marked}
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
