package model

import "fmt"

// Check returns what is wrong with a state, nil if nothing is. effect is what led to it.
func (p *Protocol) Check(s *State, effect *Effect) error {
	if err := s.checkServer(); err != nil {
		return err
	}
	for _, script := range effect.Scripts[:effect.Count] {
		if s.waitsFor(&script) && s.place(script.Who) < 0 {
			return fmt.Errorf("lease %d was told to wait and is not in the queue", script.Who)
		}
	}
	believers := 0
	for i := range s.Lease {
		l, id := &s.Lease[i], int8(i)
		switch {
		case l.Phase == Holding:
			if err := p.checkBelief(s, l, id); err != nil {
				return err
			}
			if l.Epoch > l.Forced {
				believers++
			}
		case l.Phase == Over && !l.Loose:
			if s.Owner == id || s.place(id) >= 0 {
				return fmt.Errorf("lease %d is over, nobody will take it back, and the server still knows it", id)
			}
		}
	}
	if believers > 1 {
		return fmt.Errorf("%d leases believe that they hold the lock", believers)
	}
	return nil
}

// checkBelief compares what a holder believes with what the server says. After a Break by force the two may differ, and
// only the order of epochs is promised. Whoever works with a lease that is broken or was taken from it does so for no
// longer than the news takes: it is on its way, or the process does not have its line back, or has not asked yet what it
// has missed. Renewals, which not every lease has, are not needed for that.
func (p *Protocol) checkBelief(s *State, l *Lease, id int8) error {
	switch {
	case l.Epoch <= l.Forced:
		if s.Owner >= 0 && s.Owner != id && s.Epoch <= l.Epoch {
			return fmt.Errorf("the holder after a forced Break has epoch %d, the broken lease %d has %d", s.Epoch, id, l.Epoch)
		}
	case s.Owner != id || s.Left < l.Left:
		return fmt.Errorf("lease %d believes that it holds the lock for %d ticks; the server says %s, %d ticks",
			id, l.Left, ownerName(s.Owner), s.Left)
	case s.Epoch != l.Epoch:
		return fmt.Errorf("lease %d works with epoch %d; the server gave it %d, and others one between", id, l.Epoch, s.Epoch)
	}
	if blind := s.Cut[p.Proc[id]] || l.Check || l.Loose; !blind && !l.Lost && (s.Marked || s.Owner != id) {
		return fmt.Errorf("lease %d is broken and goes on, and its process will not hear of it", id)
	}
	return nil
}

// waitsFor reports whether a lease waits because of what a script has answered.
func (s *State) waitsFor(script *Script) bool {
	a := script.Answer
	if script.Kind != Try && script.Kind != Ask || a.OK || a.Late || a.Broken {
		return false
	}
	phase := s.Lease[script.Who].Phase
	return phase == Waiting || phase == Asking && script.Kind == Ask
}

func (s *Server) checkServer() error {
	switch {
	case s.Fell:
		return fmt.Errorf("epoch %d was given after %d", s.Epoch, s.Issued)
	case s.Innocent:
		return fmt.Errorf("a Break hit a lease that it does not name")
	case s.Marked && s.Left > s.Ends:
		return fmt.Errorf("a broken lease lasts longer than when it was broken")
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
// passing time. If it has been granted the lock already, it is to learn that when its process shows life. Else it is to
// have the lock as soon as the lease in the way is over and those before it who died no longer count as live, which
// takes no longer than the longer of the two; and later by one grant for each lease that its own process, which lives,
// forgets in the queue. It returns nil for leases that do not wait.
func (p *Protocol) Rescue(s State, id int8) error {
	l, proc := &s.Lease[id], p.Proc[id]
	if s.Dead[proc] || l.Phase != Waiting && !(l.Phase == Asking && l.Call.Kind == Ask) {
		return nil
	}
	patience := max(s.Left, 1)
	if s.Owner == id {
		patience = 1
	}
	for _, other := range s.Queue[:s.Queued] {
		if patience = max(patience, s.Live[p.Proc[other]]); other != id && p.Proc[other] == proc {
			patience += min(s.TTL[other], p.liveness())
		}
	}
	asks := l.Asks
	for ticks := int8(0); ; ticks++ {
		if asks == 0 {
			answer, _ := p.Acquire(&s.Server, id, true, false)
			if answer.OK || answer.Broken {
				return nil
			}
			asks = answer.Left
		}
		if ticks == patience {
			return fmt.Errorf("lease %d waits for a lock whose holder is gone, longer than one lease", id)
		}
		p.Tick(&s.Server)
		asks = max(asks-1, 0)
		asks = p.asks(&s, id, asks, p.Alive(&s.Server, proc))
	}
}
