package model

// giveBack ends what the process believes and tells the server.
func (l *Lease) giveBack(kind Kind) {
	l.Phase, l.Left, l.Epoch, l.Skew, l.Asks, l.Pushed = Releasing, 0, 0, 0, 0, [pushes]Grant{}
	l.Lost, l.Told, l.Check, l.Reads, l.Forced = false, false, false, false, 0
	if l.Call = (Call{Kind: kind}); kind == Cancel {
		if l.Phase = Cancelling; l.Doubt == 1 {
			l.Doubt = 0 // no request can act after this one
		}
	}
}

// drop gives up the call that is under way. If it was not executed, it may still arrive.
func (l *Lease) drop() {
	c := l.Call
	if l.Call = (Call{}); c.Kind == Try || c.Kind == Ask {
		c.Sent = min(c.Sent, Latest)
		l.Doubt, l.Check = max(l.Doubt, 1+Latest-c.Sent), false
	} else {
		c.Sent = 0
	}
	if c.Kind != NoCall && c.Kind != Held && !c.Done {
		l.Late = Late{c.Kind, c.Sent}
	}
}

// end makes the process forget a lease.
func (l *Lease) end() {
	l.giveBack(NoCall)
	l.Phase, l.Doubt = Over, 0
}

// giveUp ends the wait for a call under way: the caller's context is over, or the session's time limit.
func (p *Protocol) giveUp(l *Lease) {
	switch l.Phase {
	case Holding: // the renewer tries again, or does not
	case Refreshing:
		l.giveBack(Release)
	case Releasing:
		l.giveBack(Cancel) // in the background
	case Cancelling:
		l.Loose = true
		l.end()
	default:
		if p.Fault == "acquire without a reply is forgotten" {
			l.end()
			return
		}
		l.giveBack(Cancel)
	}
}

// tick lets a tick pass for the process and for what is under way.
func (p *Protocol) tick(l *Lease) {
	if l.Call.Kind != NoCall {
		l.Call.Sent = min(l.Call.Sent+1, TTL)
		if l.Call.Done && l.Call.Answer.Epoch != 0 {
			l.Call.Answer.Age = min(l.Call.Answer.Age+1, TTL)
		}
	}
	for i := range l.Pushed {
		if l.Pushed[i].Epoch != 0 {
			l.Pushed[i].Age = min(l.Pushed[i].Age+1, TTL)
		}
	}
	if l.Late.Kind == Try || l.Late.Kind == Ask {
		l.Late.Sent = min(l.Late.Sent+1, Latest)
	}
	if l.Doubt > 0 {
		l.Doubt = max(l.Doubt-1, 1)
	}
	if wanted := l.Phase == Holding || l.Phase == Waiting; wanted && l.Doubt == 1 && l.Call.Kind == NoCall {
		l.Doubt = 0 // the request can no longer act
	}
	l.Left, l.Asks = max(l.Left-1, 0), max(l.Asks-1, 0)
	if l.Phase == Holding && l.Left == 0 {
		// The lease is lost. For the server it may last longer, by a renewal whose answer did not arrive.
		if l.giveBack(Cancel); p.Fault == "lease that ran out is not given back" {
			l.end()
		}
	}
}
