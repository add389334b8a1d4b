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
	Doubting   // taken back, while a request may still be under way and act: it will be taken back again
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
	Held          // does the lease still hold the lock?
	ShowLife      // alive.lua, for a process
	Break         // break.lua
)

func (k Kind) String() string {
	return [...]string{"nothing", "try", "ask", "renew", "release", "retain", "cancel", "held", "alive", "break"}[k]
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
	TTL   int8  // for how many ticks the server gave it
	Age   int8  // ticks since then, at most TTL
}

// Late is a request that its sender has given up, but the network has not.
type Late struct {
	Kind Kind
	Sent int8 // of an acquire: ticks since it was sent, at most Latest
}

// Lease is one use of a lease id, as its process sees it, and what the network holds of it.
type Lease struct {
	Phase Phase
	Call  Call
	Late  Late
	// Skew is how many ticks earlier than in truth this process dates the server's grants: it knows when it sent the
	// request that the server's clock came back with, not when the server read that clock.
	Skew   int8
	Asks   int8 // waiting: ticks until it asks again by itself
	Left   int8
	Epoch  uint8
	Pushed [pushes]Grant
	Lost   bool // the push that tells of a Break is under way
	Told   bool // that push came before the grant was known
	Check  bool // the process has subscribed again and has not learnt since whether it still holds the lock
	// Doubt is one more than the ticks until the last acquire without an answer can act no longer; 0: all were answered,
	// or the lease was taken back after that moment.
	Doubt int8
	// Forced is the last epoch that was ended by force: the server and the process may rightly disagree about it and those
	// before.
	Forced uint8
	// Loose is set when the two may rightly disagree for longer. Nobody tries to take the lease back any more: its process
	// has died, or has had no answer for longer than it has patience. Or it was ended by force, and a late duplicate of
	// its own request asks for the lock anew: whoever then checks it by its id is told that it holds the lock.
	Loose bool
}

// received is the moment at which the process learns of a grant. It dates the lease as far back as it might have
// begun, so that what is left of it is certain.
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
		case c.Answer.Broken || l.Told:
			l.giveBack(Cancel)
		case c.Answer.Late:
			l.Call, l.Check = Call{Kind: c.Kind}, false // asks anew
		case l.Phase == Asking && c.Kind == Try:
			p.toldOver(l)
		default:
			l.Phase, l.Skew, l.Asks, l.Check = Waiting, c.Skew, c.Answer.Left, false
		}
	case l.Phase == Refreshing && c.Answer.OK && (l.Left > 0 || p.Fault == "uses a grant that is over") && c.Sent < ttl:
		l.Phase, l.Left = Holding, ttl-c.Sent
	case l.Phase == Refreshing:
		l.giveBack(Release)
	case l.Phase == Holding && c.Answer.Broken:
		l.giveBack(Cancel)
	case l.Phase == Holding && c.Answer.OK && c.Kind == Held:
		l.Check = false
	case l.Phase == Holding && c.Answer.OK:
		sent := c.Sent
		if p.Fault == "renewal counts from the reply" {
			sent = 0
		}
		l.Left = max(l.Left, ttl-sent)
	default: // a renewal or a check that was refused; the end of a release or a cancel
		p.toldOver(l)
	}
}

// toldOver is the reply to the last call of a lease, unless it is to be taken back again.
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

// giveBack ends what the process believes and tells the server.
func (l *Lease) giveBack(kind Kind) {
	l.Phase, l.Left, l.Epoch, l.Skew, l.Asks, l.Pushed = Releasing, 0, 0, 0, 0, [pushes]Grant{}
	l.Lost, l.Told, l.Check, l.Forced = false, false, false, 0
	if l.Call = (Call{Kind: kind}); kind == Cancel {
		if l.Phase = Cancelling; l.Doubt == 1 {
			l.Doubt = 0 // no request can act after this one
		}
	}
}

// drop gives up the call that is under way; the network does not, if it has not been executed.
func (l *Lease) drop() {
	c := l.Call
	if l.Call = (Call{}); c.Kind == Try || c.Kind == Ask {
		c.Sent = min(c.Sent, Latest)
		l.Doubt, l.Check = max(l.Doubt, 1+Latest-c.Sent), false
	} else {
		c.Sent = 0
	}
	if !c.Done && c.Kind != Held {
		l.Late = Late{c.Kind, c.Sent}
	}
}

// end is the last that the process does for a lease.
func (l *Lease) end() {
	l.giveBack(NoCall)
	l.Phase, l.Doubt = Over, 0
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
	if l.Late.Kind == Try || l.Late.Kind == Ask {
		l.Late.Sent = min(l.Late.Sent+1, Latest)
	}
	if l.Doubt > 0 {
		l.Doubt = max(l.Doubt-1, 1)
	}
	l.Left, l.Asks = max(l.Left-1, 0), max(l.Asks-1, 0)
	if l.Phase == Holding && l.Left == 0 {
		// Lost. A renewal whose answer did not come may have made it longer for the server.
		if l.giveBack(Cancel); p.Fault == "lease that ran out is not given back" {
			l.end()
		}
	}
}

// giveUp is a caller's context, or a session's patience, that ends while a call is under way.
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

// told is the moment at which a process learns that a lease is broken.
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

// resubscribed is the moment at which a process has its line for pushes again. Leases whose grant may be on its way in
// an answer are checked as soon as they are known.
func (p *Protocol) resubscribed(s *State, proc int8) {
	s.Cut[proc] = false
	for i := range s.Lease {
		l := &s.Lease[i]
		if p.Proc[i] != proc {
			continue
		}
		if l.Call.Kind == Held {
			l.drop() // its answer says nothing about what was missed since
		}
		switch l.Phase {
		case Holding, Refreshing:
			l.Check = p.Fault != "held leases are not checked after a resubscription"
		case Asking, Waiting:
			l.Check = l.Call.Kind != NoCall && p.Fault != "answers under way are not checked after a resubscription"
		}
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

// takePush lets a grant arrive. Those before it got lost.
func (l *Lease) takePush(at int) Grant {
	var rest [pushes]Grant
	copy(rest[:], l.Pushed[at+1:])
	g := l.Pushed[at]
	l.Pushed = rest
	return g
}
