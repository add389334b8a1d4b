package model

// forget clears what can make no difference any more, so that states which differ in nothing else are the same. It is
// what keeps the exploration small; a state that it changed too much would hide a violation, so each line says why not.
func (p *Protocol) forget(s *State, leases int) {
	for i := range leases {
		s.forgetLease(&s.Lease[i], int8(i))
	}
	for proc := range s.Live {
		p.forgetProcess(s, leases, int8(proc))
	}
	if s.Owner < 0 || s.Lease[s.Owner].Phase != Asking && s.Lease[s.Owner].Phase != Waiting {
		s.Age = 0 // is only told to an owner that does not know it yet
	}
	if s.Queued == 0 && s.WaitersLeft > 0 {
		s.WaitersLeft = 0 // whoever queues next sets it anew
	}
	if s.Floor > s.Issued {
		s.Floor = s.Issued // the next epoch is higher than all others either way
	}
}

func (s *State) forgetLease(l *Lease, id int8) {
	c := &l.Call
	switch c.Kind {
	case Release, Retain, Cancel:
		c.Sent, c.Skew = 0, 0 // no lease is counted from these
		if c.Done && s.Faults == 0 {
			l.toldOver() // nothing but the arrival of the reply can follow
		}
	case Renew:
		c.Skew = 0 // the lease is counted from Sent
	case Try, Ask:
		if c.Done {
			c.Sent = 0 // the lease is counted from Skew
		}
		if c.Done && c.Answer.OK {
			c.Answer.Age, c.Skew = min(c.Answer.Age+c.Skew, TTL), 0 // only their sum counts
		}
	}
	if l.Phase == Over && l.Late == NoCall && s.Owner != id && s.place(id) < 0 {
		l.Loose, l.Broken = false, false // nothing is left that could disagree
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
		s.Live[proc] = 0 // whoever queues sets it anew
	}
	if over {
		s.Dead[proc] = false // a process without work does nothing either
	}
}
