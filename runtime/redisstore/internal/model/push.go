package model

// publish puts grants under way to the leases that still wait for them.
func (p *Protocol) publish(s *State, pushed []Push) {
	for _, push := range pushed {
		l := &s.Lease[push.To]
		waits := l.Phase == Asking || l.Phase == Waiting
		switch {
		case push.Poke || push.Recall || s.Cut[p.Proc[push.To]]:
			// Nothing is to model: a waiter may ask again at any time.
		case push.Epoch == 0:
			l.Lost = waits || l.Phase == Holding || l.Phase == Refreshing
		case waits:
			l.addPush(Grant{Epoch: push.Epoch, TTL: push.TTL})
		}
	}
}

// cut ends a process's subscription. Pushes that have arrived are read before.
func (p *Protocol) cut(s *State, proc int8) {
	s.Cut[proc] = true
	for i := range s.Lease {
		if l := &s.Lease[i]; p.Proc[i] == proc {
			l.Pushed, l.Lost = [pushes]Grant{}, false
		}
	}
}

// resubscribed begins a process's subscription, the first or a later one. Leases whose grant may be in an answer under
// way are checked as soon as the answer arrives.
func (p *Protocol) resubscribed(s *State, proc int8) {
	s.Cut[proc] = false
	for i := range s.Lease {
		l := &s.Lease[i]
		if p.Proc[i] != proc {
			continue
		}
		if l.Call.Kind == Held {
			l.drop() // its answer may be older than what was missed
		}
		switch l.Phase {
		case Holding, Refreshing:
			l.Check = p.Fault != "held leases are not checked after a resubscription"
		case Asking, Waiting:
			l.Check = l.Call.Kind != NoCall && p.Fault != "answers under way are not checked after a resubscription"
		}
	}
}

// told makes a process learn that a lease is broken.
func (p *Protocol) told(l *Lease) {
	l.Lost = false
	switch {
	case l.Phase == Holding && p.Fault == "acknowledges before it ends":
		l.Call = Call{Kind: Release}
	case l.Phase == Holding && p.Fault == "broken lease is not acknowledged":
		l.end()
	case l.Phase == Holding || l.Phase == Refreshing:
		l.giveBack(Cancel)
	case p.Fault == "loss of an unknown grant is forgotten":
	case l.Phase == Waiting && l.Call.Kind == NoCall:
		l.giveBack(Cancel)
	case l.Phase == Asking || l.Phase == Waiting:
		l.Told = true
	}
}

// addPush puts a grant under way, behind those that are.
func (l *Lease) addPush(g Grant) {
	if l.Pushed[pushes-1].Epoch != 0 {
		copy(l.Pushed[:], l.Pushed[1:])
		l.Pushed[pushes-1] = Grant{}
	}
	at := 0
	for l.Pushed[at].Epoch != 0 {
		at++
	}
	l.Pushed[at] = g
}

// takePush lets a grant arrive. Those before it are lost.
func (l *Lease) takePush(at int) Grant {
	var rest [pushes]Grant
	copy(rest[:], l.Pushed[at+1:])
	g := l.Pushed[at]
	l.Pushed = rest
	return g
}
