package model

import "fmt"

// checkTogether checks whether the leases that believe at one moment that they hold the lock may hold it together.
func (s *State) checkTogether(believers []int8) error {
	if len(believers) < 2 {
		return nil
	}
	var limit, permits int8
	for _, id := range believers {
		l := &s.Lease[id]
		switch {
		case s.Kind[id] > 0:
			permits++
			limit = max(limit, s.Kind[id])
		case s.Kind[id] == Writer && !l.Reads:
			return fmt.Errorf("lease %d writes, and %d leases believe that they hold the lock", id, len(believers))
		}
	}
	if permits > 0 && int(permits) < len(believers) {
		return fmt.Errorf("readers and permits hold the lock together: %v", believers)
	}
	if permits > limit {
		return fmt.Errorf("%d hold one of %d permits", permits, limit)
	}
	return nil
}

// checkShare compares what a holder believes with its share. A holder that was downgraded with a new epoch works with
// the old, lower one until the answer arrives.
func (s *State) checkShare(l *Lease, id int8) error {
	switch h := s.Hold[id]; {
	case h.Left < l.Left:
		return fmt.Errorf("lease %d believes that it holds the lock for %d ticks; the server says %d", id, l.Left, h.Left)
	case h.Epoch != l.Epoch && !(l.Reads && l.Epoch < h.Epoch):
		return fmt.Errorf("lease %d works with epoch %d; the server gave it %d", id, l.Epoch, h.Epoch)
	}
	return nil
}

// checkShares checks the shares of the lock against each other.
func (s *Server) checkShares() error {
	if !s.Shared() {
		return nil
	}
	slots := map[int8]bool{}
	for i, h := range s.Hold {
		if h.Left == 0 {
			continue
		}
		switch id := int8(i); {
		case s.Left < h.Left:
			return fmt.Errorf("the lock ends before the share of lease %d", id)
		case s.place(id) >= 0 && !h.Kept:
			return fmt.Errorf("the queue holds the granted lease %d", id)
		case h.Marked && h.Left > h.Ends:
			return fmt.Errorf("a broken lease lasts longer than when it was broken")
		case s.Owner == Readers && h.Epoch != s.Epoch:
			return fmt.Errorf("reader %d has epoch %d beside others with %d", id, h.Epoch, s.Epoch)
		case s.Owner == Permits && slots[h.Slot]:
			return fmt.Errorf("two permits have slot %d", h.Slot)
		case s.Owner == Permits && h.Slot >= max(s.Kind[id], 1):
			return fmt.Errorf("permit %d of %d has slot %d", id, s.Kind[id], h.Slot)
		}
		slots[h.Slot] = true
	}
	return nil
}

// checkHead checks that no lease waits that could have the lock, after a script that has to let it in. The scripts of
// nodes without kinds do not, and no script runs when time passes.
func (p *Protocol) checkHead(s *State, effect *Effect) error {
	if effect.Count == 0 || p.headFits(&s.Server) == None {
		return nil
	}
	switch script := effect.Scripts[effect.Count-1]; script.Kind {
	case Renew, Held, ShowLife:
	case Break:
		if script.Answer.OK && script.Break.Who >= 0 && script.Break.Force {
			return fmt.Errorf("lease %d fits and waits after a Break", s.Queue[0])
		}
	case Release, Retain:
		if script.Answer.OK && !s.Old[p.Proc[script.Who]] {
			return fmt.Errorf("lease %d fits and waits after a release", s.Queue[0])
		}
	default:
		// A script that finds that its lease has a share already, or comes too late, changes nothing.
		told := script.Answer.OK || script.Answer.Broken || script.Answer.Late
		if !s.Old[p.Proc[script.Who]] && !told {
			return fmt.Errorf("lease %d fits and waits after %s %d", s.Queue[0], script.Kind, script.Who)
		}
	}
	return nil
}

// RescueShared checks that a dead waiter does not keep out a reader behind it while other readers keep renewing. All
// other waiters stop, and the reader gets in when those before it no longer count as live.
func (p *Protocol) RescueShared(s State, id int8) error {
	l, proc := &s.Lease[id], p.Proc[id]
	if s.Owner != Readers || s.Kind[id] != Reader || s.Marked || s.Dead[proc] || s.Old[proc] || l.Phase != Waiting {
		return nil
	}
	patience := int8(1)
	for _, other := range s.Queue[:s.Queued] {
		patience = max(patience, s.Live[p.Proc[other]])
		if other != id && p.Proc[other] == proc {
			return nil // its own process lives and asks for the other lease, too
		}
	}
	left, hold, asks := s.Left, s.Hold, l.Asks
	for ticks := int8(0); ; ticks++ {
		if asks == 0 {
			answer, _ := p.Acquire(&s.Server, id, true, false)
			if answer.OK || answer.Broken {
				return nil
			}
			asks = answer.Left
		}
		if ticks == patience {
			return fmt.Errorf("reader %d waits behind somebody who has died while readers hold the lock", id)
		}
		p.Tick(&s.Server)
		if s.Owner == Readers {
			s.Left = left // the readers renew
			for i := range hold {
				if s.Hold[i].Left > 0 || hold[i].Left == 1 {
					s.Hold[i] = hold[i]
				}
			}
		}
		asks = max(asks-1, 0)
		asks = p.asks(&s, id, asks, p.Alive(&s.Server, proc))
	}
}
