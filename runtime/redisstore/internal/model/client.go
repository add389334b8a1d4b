package model

// Phase is how far a lease has come.
type Phase uint8

// The phases of a lease.
const (
	New        Phase = iota
	Asking           // its first request is under way
	Waiting          // the server said that it is in the queue
	Refreshing       // granted late: renewed before it is used
	Holding          // its owner believes that it holds the lock, until Left ticks from now
	Releasing
	Cancelling // given up; being taken back in the background
	Doubting   // taken back, while the request itself may still be under way: it will be taken back again
	Over
)

func (p Phase) String() string {
	return [...]string{"new", "asking", "waiting", "refreshing", "holding", "releasing", "cancelling", "doubting", "over"}[p]
}

// Kind is a script that a lease calls.
type Kind uint8

// The kinds of a [Call].
const (
	NoCall   Kind = iota
	Try           // acquire.lua without a place in the queue
	Ask           // acquire.lua with one; also the poke
	Renew         // renew.lua
	Release       // release.lua
	Retain        // release.lua with MinHold left
	Cancel        // cancel.lua
	ShowLife      // alive.lua, for a process
	Break         // break.lua
)

func (k Kind) String() string {
	return [...]string{"nothing", "try", "ask", "renew", "release", "retain", "cancel", "alive", "break"}[k]
}

// Call is a request and, once it was executed, its reply.
type Call struct {
	Kind   Kind
	Done   bool // executed; what follows but Sent is the reply
	Sent   int8 // ticks since it was sent, at most TTL
	Skew   int8 // what Sent was when it was executed
	Answer Answer
}

// Grant is a pushed grant under way.
type Grant struct {
	Epoch uint8 // 0: there is none
	Age   int8  // ticks since the server gave it, at most TTL
}

// Lease is one use of a lease id, as its process sees it, and what the network holds of it.
type Lease struct {
	Phase Phase
	Call  Call
	// Late is a request that its sender has given up, but the network has not.
	Late Kind
	// Skew is how many ticks earlier than in truth this process dates the server's grants: it knows when it sent the
	// request that the server's clock came back with, not when the server read that clock.
	Skew   int8
	Asks   int8 // waiting: ticks until it asks again by itself
	Left   int8
	Epoch  uint8
	Pushed [pushes]Grant
	Lost   bool // the push that tells of a Break is under way
	Doubt  bool // it is being taken back while its own request may be under way
	// Broken and Loose are set when the server and the process may rightly disagree: after a Break; after a late request
	// was executed that nobody doubted, or when nobody tries to take the lease back any more.
	Broken, Loose bool
}

// received is the moment at which the process learns of a grant. It dates the lease as far back as it might have
// begun, so that what is left of it is certain.
func (p *Protocol) received(s *State, id int8, a Answer, skew int8, push bool) {
	l, ttl := &s.Lease[id], s.TTL[id]
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
		l.Epoch, l.Asks = 0, 0 // as if it had not come: it asks again
	default:
		l.giveBack(Release)
	}
}

// answered is the moment at which the process reads the reply to its call.
func (p *Protocol) answered(s *State, id int8) {
	l, ttl := &s.Lease[id], s.TTL[id]
	c := l.Call
	l.Call = Call{}
	switch {
	case l.Phase == Asking || l.Phase == Waiting:
		switch {
		case c.Answer.OK:
			p.received(s, id, c.Answer, c.Skew, false)
		case l.Phase == Asking && c.Kind == Try:
			l.end()
		default:
			l.Phase, l.Skew, l.Asks = Waiting, c.Skew, c.Answer.Left
		}
	case l.Phase == Refreshing && c.Answer.OK && (l.Left > 0 || p.Fault == "uses a grant that is over") && c.Sent < ttl:
		l.Phase, l.Left = Holding, ttl-c.Sent
	case l.Phase == Refreshing:
		l.giveBack(Release)
	case l.Phase == Holding && c.Answer.OK:
		sent := c.Sent
		if p.Fault == "renewal counts from the reply" {
			sent = 0
		}
		l.Left = max(l.Left, ttl-sent)
	default: // a renewal that was refused; the end of a release or a cancel
		l.toldOver()
	}
}

// toldOver is the reply to the last call of a lease, unless it is to be taken back again.
func (l *Lease) toldOver() {
	if !l.Doubt {
		l.end()
		return
	}
	l.Phase, l.Call, l.Doubt = Doubting, Call{}, false
}

// giveBack ends what the process believes and tells the server.
func (l *Lease) giveBack(kind Kind) {
	l.Phase, l.Left, l.Epoch, l.Skew, l.Asks, l.Pushed = Releasing, 0, 0, 0, 0, [pushes]Grant{}
	if kind == Cancel {
		l.Phase = Cancelling
	}
	l.Call = Call{Kind: kind}
}

// drop gives up the call that is under way; the network does not, if it has not been executed.
func (l *Lease) drop() {
	if !l.Call.Done {
		l.Late = l.Call.Kind
	}
	l.Call = Call{}
}

// end is the last that the process does for a lease.
func (l *Lease) end() {
	l.Phase, l.Left, l.Epoch, l.Skew, l.Asks, l.Pushed, l.Lost = Over, 0, 0, 0, 0, [pushes]Grant{}, false
	l.Call, l.Doubt = Call{}, false
}

// tick lets time pass for the process and for what is under way.
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
	l.Left, l.Asks = max(l.Left-1, 0), max(l.Asks-1, 0)
	if l.Phase == Holding && l.Left == 0 {
		l.Loose = true // lost; the server follows within the margin
		l.end()
	}
}

// giveUp is a caller's context, or a session's patience, that ends while a call is under way.
func (p *Protocol) giveUp(l *Lease) {
	switch l.Phase {
	case Holding: // the renewer tries again, or does not
	case Refreshing:
		l.giveBack(Release)
	case Releasing, Cancelling:
		l.Loose = true
		l.end()
	default:
		if p.Fault == "acquire without a reply is forgotten" {
			l.end()
			return
		}
		l.giveBack(Cancel)
		p.doubt(l)
	}
}

// doubt makes a lease that is being taken back one to be taken back again, if its own request may come later.
func (p *Protocol) doubt(l *Lease) {
	l.Doubt = (l.Late == Try || l.Late == Ask) && p.Fault != "late acquire is forgotten"
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

// takePush lets a grant arrive. Those before it got lost.
func (l *Lease) takePush(at int) Grant {
	var rest [pushes]Grant
	copy(rest[:], l.Pushed[at+1:])
	g := l.Pushed[at]
	l.Pushed = rest
	return g
}
