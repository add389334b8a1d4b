package model

// Effect is what an event made the server do.
type Effect struct {
	Scripts [maxScripts]Script
	Count   int
	Ticked  bool
}

// Script is one execution of a script.
type Script struct {
	Kind   Kind
	Who    int8 // the lease; for ShowLife the process
	Answer Answer
	Pushed []Push
}

// maxScripts is how many scripts one event can run: a push that comes late, its renewal is refused, it is given back.
const maxScripts = 3

func (f *Effect) add(kind Kind, who int8, a Answer, pushed []Push) Answer {
	f.Scripts[f.Count] = Script{Kind: kind, Who: who, Answer: a, Pushed: pushed}
	f.Count++
	return a
}

// Step returns the state after e, which Next has named for s, and what the server did.
func (p *Protocol) Step(s State, e Event) (State, Effect) {
	var f Effect
	switch e.What {
	case evTick:
		f.Ticked = true
		p.Tick(&s.Server)
		for i := range s.Lease {
			p.tick(&s.Lease[i])
		}
	case evBreak:
		s.Faults--
		if s.Owner >= 0 {
			s.Lease[s.Owner].Broken, s.Lease[s.Owner].Loose = true, true
		}
		answer, pushed := p.Break(&s.Server)
		f.add(Break, None, answer, pushed)
	case evAlive:
		p.shown(&s, int8(e.Who), f.add(ShowLife, int8(e.Who), p.Alive(&s.Server, int8(e.Who)), nil))
	case evCrash:
		s.Faults--
		p.crash(&s, int8(e.Who))
	default:
		p.stepOf(&s, &s.Lease[e.Who], e, &f)
	}
	for _, script := range f.Scripts[:f.Count] {
		s.publish(script.Pushed)
	}
	return s, f
}

func (p *Protocol) stepOf(s *State, l *Lease, e Event, f *Effect) {
	id := int8(e.Who)
	switch e.What {
	case evTry:
		l.Phase, l.Call = Asking, Call{Kind: Try}
	case evAsk:
		l.Phase, l.Call = Asking, Call{Kind: Ask}
	case evPoke:
		l.Call = Call{Kind: Ask}
		if p.Fault == "poke does not queue" {
			l.Call.Kind = Try
		}
	case evRenew:
		l.Call = Call{Kind: Renew}
	case evRelease:
		l.giveBack(Release)
	case evRetain:
		l.giveBack(Retain)
	case evLeave:
		l.giveBack(Cancel)
	case evAgain:
		l.giveBack(Cancel)
		p.doubt(l)
	case evPush:
		g := l.takePush(int(e.Which))
		p.received(s, id, Answer{OK: true, Epoch: g.Epoch, Age: g.Age}, l.Skew, true)
	case evReply:
		p.answered(s, id)
	case evExecute:
		p.execute(s, l, id, f)
		return
	case evRepeat:
		again := Call{Kind: l.Call.Kind, Sent: l.Call.Sent}
		if l.drop(); l.Phase != Waiting { // who pokes again when it likes
			l.Call = again
		}
		return
	case evGiveUp:
		l.drop()
		p.giveUp(l)
	case evLost:
		if l.Lost = false; l.Phase == Holding {
			l.end()
		}
	case evLate:
		answer, pushed := p.run(s, l.Late, id)
		f.add(l.Late, id, answer, pushed)
		l.Late = NoCall
		l.Loose = l.Loose || l.Phase != Doubting && !l.Doubt && p.Fault != "late acquire is forgotten"
		return
	}
	if e.Slow {
		s.Faults--
		return
	}
	for l.Call.Kind != NoCall {
		p.execute(s, l, id, f)
		p.answered(s, id)
	}
}

// execute runs a lease's call on the server.
func (p *Protocol) execute(s *State, l *Lease, id int8, f *Effect) {
	answer, pushed := p.run(s, l.Call.Kind, id)
	l.Call.Done, l.Call.Skew, l.Call.Answer = true, l.Call.Sent, f.add(l.Call.Kind, id, answer, pushed)
}

func (p *Protocol) run(s *State, kind Kind, id int8) (Answer, []Push) {
	switch kind {
	case Try, Ask:
		return p.Acquire(&s.Server, id, kind == Ask)
	case Renew:
		return p.Renew(&s.Server, id), nil
	case Cancel:
		return p.Cancel(&s.Server, id)
	}
	return p.Release(&s.Server, id, kind == Retain)
}

// shown is the moment at which a process reads the answer to its showing life.
func (p *Protocol) shown(s *State, proc int8, a Answer) {
	for i := range s.Lease {
		if l := &s.Lease[i]; p.Proc[i] == proc && l.Phase == Waiting && p.Fault != "the living are not told" {
			l.Asks = min(l.Asks, a.Left)
		}
	}
}

func (p *Protocol) crash(s *State, proc int8) {
	s.Dead[proc] = true
	for i := range s.Lease {
		if l := &s.Lease[i]; p.Proc[i] == proc && l.Phase != New {
			l.drop()
			l.end()
			l.Loose = true
		}
	}
}

// publish puts grants under way to those who still listen for them.
func (s *State) publish(pushed []Push) {
	for _, push := range pushed {
		l := &s.Lease[push.To]
		switch {
		case push.Poke:
			// A waiter may poke at any time anyway.
		case push.Epoch == 0:
			l.Lost = l.Phase == Holding || l.Phase == Refreshing
		case l.Phase == Asking || l.Phase == Waiting:
			l.addPush(Grant{Epoch: push.Epoch})
		}
	}
}
