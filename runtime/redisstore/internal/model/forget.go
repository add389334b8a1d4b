package model

// forget clears what can make no difference any more, so that states which differ in nothing else are the same. It
// keeps the exploration small. Clearing too much would hide a violation, so each line says why it does not.
func (p *Protocol) forget(s *State, leases int) {
	for i := range leases {
		p.forgetLease(s, &s.Lease[i], int8(i))
	}
	p.forgetBreak(s)
	for proc := range s.Live {
		p.forgetProcess(s, leases, int8(proc))
	}
	if s.Owner < 0 || s.Lease[s.Owner].Phase != Asking && s.Lease[s.Owner].Phase != Waiting {
		s.Age, s.Given = 0, 0 // only an owner that does not know of its grant is told these
	}
	if !s.Shared() && p.Fault != "holders of before count" {
		s.Hold, s.Extra = [MaxLeases]Share{}, 0
	}
	if s.Queued == 0 && s.WaitersLeft > 0 {
		s.WaitersLeft = 0 // the next waiter sets it anew
	}
	if s.Floor > s.Issued {
		s.Floor = s.Issued // the next epoch is higher than all others either way
	}
}

// forgetBreak drops a Break that has come too late: no grant has its epoch again.
func (p *Protocol) forgetBreak(s *State) {
	named := s.named(s.Break)
	if !named && p.Fault != "break names the key only" && p.Fault != "break names no epoch" {
		s.Break, s.Runs = Breaking{}, 0
	}
}

// named reports whether a Break names a lease that has the lock, or shares it.
func (s *Server) named(b Breaking) bool {
	if s.Owner == b.Who || !s.Shared() {
		return s.Owner == b.Who && s.Epoch == b.Epoch
	}
	return b.Who >= 0 && s.Hold[b.Who].Left > 0 && s.Hold[b.Who].Epoch == b.Epoch
}

func (p *Protocol) forgetLease(s *State, l *Lease, id int8) {
	c := &l.Call
	switch c.Kind {
	case Release, Retain, Cancel:
		c.Sent, c.Skew = 0, 0 // no lease is dated by these calls
		if c.Done && s.Faults == 0 {
			p.toldOver(l) // nothing but the arrival of the reply can follow
		}
	case Held:
		c.Sent, c.Skew = 0, 0 // no lease is dated by a check
	case Renew:
		c.Skew = 0 // the lease is dated by Sent
	case Try, Ask:
		if c.Done {
			c.Sent = 0 // the lease is dated by Skew
		}
		if c.Done && c.Answer.OK {
			c.Answer.Age, c.Skew = min(c.Answer.Age+c.Skew, TTL), 0 // only their sum counts
		}
	}
	if l.Late.Sent >= Latest && p.Fault != "late acquire acts" {
		l.Late = Late{} // after Latest it changes nothing
	}
	if l.Phase == Over && l.Late.Kind == NoCall && s.Owner != id && !s.Holds(id) && s.place(id) < 0 {
		l.Loose = false // nothing is left that could disagree
	}
}

func (p *Protocol) forgetProcess(s *State, leases int, proc int8) {
	over, queued := true, false
	for i := range leases {
		if p.Proc[i] == proc {
			over = over && s.Lease[i].Phase == Over
			queued = queued || s.place(int8(i)) >= 0
		}
	}
	if !queued {
		s.Live[proc] = 0 // the next waiter sets it anew
	}
	if over {
		s.Dead[proc], s.Cut[proc] = false, false // a process without work behaves like a dead one
	}
}
