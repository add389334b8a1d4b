package model

import "fmt"

// Check returns what is wrong with a state, nil if nothing is. effect is what led to it.
func (p *Protocol) Check(s *State, effect *Effect) error {
	if err := s.checkServer(); err != nil {
		return err
	}
	for _, script := range effect.Scripts[:effect.Count] {
		waits := script.Kind == Ask || script.Kind == Try && s.Lease[script.Who].Phase == Waiting
		if waits && !script.Answer.OK && s.place(script.Who) < 0 {
			return fmt.Errorf("lease %d was told to wait and is not in the queue", script.Who)
		}
	}
	believers := 0
	for i := range s.Lease {
		l, id := &s.Lease[i], int8(i)
		switch {
		case l.Phase == Holding && l.Broken:
			if s.Owner >= 0 && s.Owner != id && s.Epoch <= l.Epoch {
				return fmt.Errorf("the holder after a Break has epoch %d, the broken lease %d has %d", s.Epoch, id, l.Epoch)
			}
		case l.Phase == Holding:
			if believers++; believers > 1 {
				return fmt.Errorf("%d leases believe that they hold the lock", believers)
			}
			if s.Owner != id || s.Left < l.Left {
				return fmt.Errorf("lease %d believes that it holds the lock for %d ticks; the server says %s, %d ticks", id, l.Left, ownerName(s.Owner), s.Left)
			}
			if s.Epoch != l.Epoch {
				return fmt.Errorf("lease %d works with epoch %d; the server gave it %d, and others one between", id, l.Epoch, s.Epoch)
			}
		case l.Phase == Over && !l.Loose:
			if s.Owner == id || s.place(id) >= 0 {
				return fmt.Errorf("lease %d is over, nobody will take it back, and the server still knows it", id)
			}
		}
	}
	return nil
}

func (s *Server) checkServer() error {
	switch {
	case s.Fell:
		return fmt.Errorf("epoch %d was given after %d", s.Epoch, s.Issued)
	case s.Owner != None && s.Left <= 0 || s.WaitersLeft < 0 || s.Queued > 0 && s.WaitersLeft == 0:
		return fmt.Errorf("a key without an expiry")
	case s.Owner >= 0 && s.place(s.Owner) >= 0:
		return fmt.Errorf("the queue holds the granted lease %d", s.Owner)
	}
	for i := range s.Queued {
		if s.place(s.Queue[i]) != int(i) {
			return fmt.Errorf("lease %d stands in the queue twice", s.Queue[i])
		}
	}
	return nil
}

// Rescue checks that a lease which waits gets the lock although everybody else stops for ever, every message under way
// is lost and no push arrives again: by what it asks by itself, by what its process learns when it shows life, and by
// passing time. It is to have it as soon as the lease in the way is over, or one that somebody else is given who cannot
// be known to be gone; and later by one lease for each that its own process forgets in the queue. It returns nil for
// leases that do not wait.
func (p *Protocol) Rescue(s State, id int8) error {
	l, proc := &s.Lease[id], p.Proc[id]
	if s.Dead[proc] || l.Phase != Waiting && !(l.Phase == Asking && l.Call.Kind == Ask) {
		return nil
	}
	patience := max(s.Left, 1)
	next := int8(0)
	for _, other := range s.Queue[:s.Queued] {
		if next = max(next, s.TTL[other]); other != id && p.Proc[other] == proc {
			patience += s.TTL[other]
		}
	}
	if s.Owner == None {
		patience += next
	}
	asks := l.Asks
	for ticks := int8(0); ; ticks++ {
		if asks == 0 {
			answer, _ := p.Acquire(&s.Server, id, true)
			if answer.OK {
				return nil
			}
			asks = answer.Left
		}
		if ticks == patience {
			return fmt.Errorf("lease %d waits for a lock whose holder is gone, longer than one lease", id)
		}
		p.Tick(&s.Server)
		asks = max(asks-1, 0)
		if answer := p.Alive(&s.Server, proc); p.Fault != "the living are not told" {
			asks = min(asks, answer.Left)
		}
	}
}
