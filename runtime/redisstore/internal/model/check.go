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
	believers := make([]int8, 0, MaxLeases)
	for i := range s.Lease {
		l, id := &s.Lease[i], int8(i)
		switch {
		case l.Phase == Holding:
			if err := p.checkBelief(s, l, id); err != nil {
				return err
			}
			if l.Epoch > l.Forced {
				believers = append(believers, id)
			}
		case l.Phase == Over && !l.Loose:
			if s.Owner == id || s.Holds(id) || s.place(id) >= 0 {
				return fmt.Errorf("lease %d is over, nobody will take it back, and the server still knows it", id)
			}
		}
	}
	if err := s.checkTogether(believers); err != nil {
		return err
	}
	return p.checkHead(s, effect)
}

// checkBelief compares what a holder believes with what the server says. After a Break by force the two may differ, and
// only the order of epochs is promised. A holder works with a broken lease only until it is told: the push is under
// way, or the process is not subscribed again, or has not asked yet what it missed. It does not depend on renewals,
// because not every lease has them. The exception is a shared lock that a node without kinds broke: that node tells no
// process.
func (p *Protocol) checkBelief(s *State, l *Lease, id int8) error {
	switch {
	case l.Epoch <= l.Forced:
		if s.Owner >= 0 && s.Owner != id && s.Epoch <= l.Epoch {
			return fmt.Errorf("the holder after a forced Break has epoch %d, the broken lease %d has %d", s.Epoch, id, l.Epoch)
		}
	case s.Holds(id):
		if err := s.checkShare(l, id); err != nil {
			return err
		}
	case s.Owner != id || s.Left < l.Left:
		return fmt.Errorf("lease %d believes that it holds the lock for %d ticks; the server says %s, %d ticks",
			id, l.Left, ownerName(s.Owner), s.Left)
	case s.Epoch != l.Epoch:
		return fmt.Errorf("lease %d works with epoch %d; the server gave it %d, and others one between", id, l.Epoch, s.Epoch)
	}
	over := s.Marked || s.Owner != id && !s.Holds(id) || s.Holds(id) && s.Hold[id].Marked
	if blind := s.Cut[p.Proc[id]] || l.Check || l.Loose || s.Shared() && s.Marked; over && !blind && !l.Lost {
		return fmt.Errorf("lease %d is broken and goes on, and its process will not hear of it", id)
	}
	return nil
}

// waitsFor reports whether the answer of a script made a lease wait.
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
	case s.Overtook:
		return fmt.Errorf("a newcomer overtook those who wait")
	case s.Marked && s.Left > s.Ends:
		return fmt.Errorf("a broken lease lasts longer than when it was broken")
	case s.checkShares() != nil:
		return s.checkShares()
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

// Rescue checks that a waiting lease gets the lock although all others stop and stay so, every message under way is
// lost and no push arrives again. It has its own requests, the answers when its process shows life, and passing time.
//
// If the lock is granted to it already, it learns that when its process shows life. Else it gets the lock when the
// lease in the way is over and the dead waiters before it no longer count as live, whichever is later. Each lease that
// its own live process has forgotten in the queue may delay it by one grant. Rescue returns nil for leases that do not
// wait.
func (p *Protocol) Rescue(s State, id int8) error {
	l, proc := &s.Lease[id], p.Proc[id]
	if s.Dead[proc] || l.Phase != Waiting && !(l.Phase == Asking && l.Call.Kind == Ask) {
		return nil
	}
	patience := max(s.Left, 1)
	if s.Owner == id || s.Holds(id) && s.Hold[id].Left > 1 { // a share of one tick may end before its process hears of it
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
