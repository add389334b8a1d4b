package model

// received applies a grant when the process learns of it. The process dates the lease to the earliest moment at which
// it may have begun, so it never counts on more time than the server gave.
func (p *Protocol) received(s *State, id int8, a Answer, skew int8, push bool) {
	l, ttl := &s.Lease[id], a.TTL
	if p.Fault == "short grant counts as a whole lease" {
		ttl = s.TTL[id]
	}
	if l.Told {
		l.giveBack(Cancel)
		return
	}
	age := a.Age + skew
	if p.Fault == "lease counts from the reply" {
		age = 0
	}
	if p.Fault == "push counts from its arrival" && push {
		age = 0
	}
	l.Epoch = a.Epoch
	switch left := ttl - age; {
	case left == ttl:
		l.Phase, l.Left, l.Asks, l.Pushed = Holding, left, 0, [pushes]Grant{}
	case left > 0 || p.Fault == "uses a grant that is over":
		l.Phase, l.Left, l.Asks, l.Pushed = Refreshing, max(left, 0), 0, [pushes]Grant{}
		l.Call = Call{Kind: Renew}
	case push:
		l.Epoch, l.Asks = 0, 0 // the push is dropped, and the waiter asks again
	default:
		l.giveBack(Release)
	}
}

// answered applies the reply to the call of a lease when the process reads it.
func (p *Protocol) answered(s *State, id int8) {
	l, ttl := &s.Lease[id], s.TTL[id]
	c := l.Call
	l.Call = Call{}
	switch {
	case l.Phase == Asking || l.Phase == Waiting:
		switch {
		case c.Answer.OK:
			p.received(s, id, c.Answer, c.Skew, false)
		case c.Answer.Broken || l.Told:
			l.giveBack(Cancel)
		case c.Answer.Late:
			l.Call, l.Check = Call{Kind: c.Kind}, false // the request is sent again
		case l.Phase == Asking && c.Kind == Try:
			p.toldOver(l)
		default:
			l.Phase, l.Skew, l.Asks, l.Check = Waiting, c.Skew, c.Answer.Left, false
		}
	case l.Phase == Refreshing && c.Answer.OK && c.Sent < ttl && (l.Left > 0 || p.Fault == "uses a grant that is over"):
		l.Phase, l.Left = Holding, ttl-c.Sent
	case l.Phase == Refreshing:
		l.giveBack(Release)
	case l.Phase == Holding && c.Answer.Broken:
		l.giveBack(Cancel)
	case l.Phase == Holding && c.Answer.OK && c.Kind == Held:
		l.Check = false
	case l.Phase == Holding && c.Answer.OK && (c.Kind == Downgrade || c.Kind == DowngradeAnew):
		l.Epoch = c.Answer.Epoch
	case l.Phase == Holding && c.Answer.OK:
		sent := c.Sent
		if p.Fault == "renewal counts from the reply" {
			sent = 0
		}
		l.Left = max(l.Left, ttl-sent)
	default: // a refused renewal or check, or the reply to a release or a cancel
		p.toldOver(l)
	}
}

// toldOver ends a lease after the reply to its last call, or marks it to be taken back once more.
func (p *Protocol) toldOver(l *Lease) {
	if l.Doubt == 0 {
		l.end()
		return
	}
	l.giveBack(NoCall)
	if l.Phase = Doubting; p.Fault == "cancel comes before latest and is not repeated" {
		l.Doubt = 1
	}
}
