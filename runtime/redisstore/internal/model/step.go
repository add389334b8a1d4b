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
	Late   bool // of an acquire: its latest moment has passed
	Break  Breaking
	Answer Answer
	Pushed []Push
}

// maxScripts is how many scripts one event can run: a late acquire is repeated, its lease is broken, and it is given
// back.
const maxScripts = 4

func (f *Effect) add(s Script) Answer {
	f.Scripts[f.Count] = s
	f.Count++
	return s.Answer
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
	case evName:
		s.Faults--
		s.Break, s.Runs = Breaking{Who: s.Owner, Epoch: s.Epoch, Force: e.Which%2 == 1}, runs
		if e.Which >= nameShare {
			s.Break.Who, s.Break.Epoch = int8(e.Who), s.Hold[e.Who].Epoch
		}
	case evBreak:
		p.executeBreak(&s, &f)
	case evAlive:
		alive := p.Alive(&s.Server, int8(e.Who))
		p.shown(&s, int8(e.Who), f.add(Script{Kind: ShowLife, Who: int8(e.Who), Answer: alive}))
	case evCrash:
		s.Faults--
		p.crash(&s, int8(e.Who))
	case evCut:
		s.Faults--
		p.cut(&s, int8(e.Who))
	case evSubscribe:
		p.resubscribed(&s, int8(e.Who))
	default:
		p.stepOf(&s, &s.Lease[e.Who], e, &f)
	}
	for _, script := range f.Scripts[:f.Count] {
		p.publish(&s, script.Pushed)
	}
	return s, f
}

// executeBreak runs the Break that is under way.
func (p *Protocol) executeBreak(s *State, f *Effect) {
	before, b := s.Server, s.Break
	if s.Runs--; s.Runs == 0 {
		s.Break = Breaking{}
	}
	answer, pushed := p.Break(&s.Server, b)
	f.add(Script{Kind: Break, Who: None, Break: b, Answer: answer, Pushed: pushed})
	for i := range s.Lease {
		switch id := int8(i); {
		case !answer.OK || !b.Force:
		case before.Owner == id:
			s.Lease[i].Forced = before.Epoch
		case before.Holds(id) && (b.Who == id || b.Who == before.Owner):
			s.Lease[i].Forced = before.Hold[i].Epoch
			s.Lease[i].Loose = s.Lease[i].Loose || b.Who < 0 // no process is told
		}
	}
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
	case evDowngrade:
		l.Reads, l.Call = true, Call{Kind: Downgrade + Kind(e.Which)}
	case evLeave:
		l.giveBack(Cancel)
	case evPass:
		// Between the two callers no waiter listens, so pushes are lost.
		l.Phase, l.Call, l.Pushed, l.Lost = Asking, Call{Kind: Ask}, [pushes]Grant{}, false
		if l.Skew, l.Asks = 0, 0; p.Fault == "place goes on without its doubts" {
			l.Doubt = 0
		}
	case evCheck:
		l.Call = Call{Kind: Held}
	case evAgain:
		l.giveBack(Cancel)
	case evPush:
		g := l.takePush(int(e.Which))
		p.received(s, id, Answer{OK: true, Epoch: g.Epoch, TTL: g.TTL, Age: g.Age}, l.Skew, true)
	case evReply:
		p.answered(s, id)
	case evExecute:
		p.execute(s, l, id, f)
		return
	case evRepeat:
		// An acquire is dated by the clock that its own answer brings; a renewal counts from the first.
		again, doubt := Call{Kind: l.Call.Kind, Sent: l.Call.Sent}, l.Doubt
		if again.Kind == Try || again.Kind == Ask {
			again.Sent = 0
		}
		l.drop()
		if p.Fault == "retry forgets the first attempt" {
			l.Doubt = doubt
		}
		if l.Phase != Waiting { // a waiter may ask again at any time
			l.Call = again
		}
		return
	case evGiveUp:
		l.drop()
		p.giveUp(l)
	case evLost:
		p.told(l)
	case evLate:
		p.run(s, l.Late.Kind, id, l.Late.Sent, f)
		l.Late = Late{}
		l.Loose = l.Loose || l.Forced > 0 && (s.place(id) >= 0 || s.Owner == id && s.Epoch > l.Forced ||
			s.Holds(id) && s.Hold[id].Epoch > l.Forced)
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
	answer := p.run(s, l.Call.Kind, id, l.Call.Sent, f)
	l.Call.Done, l.Call.Skew, l.Call.Answer = true, l.Call.Sent, answer
	if waits := l.Call.Kind == Ask && !answer.OK && !answer.Late; waits && p.Fault != "grants from before an answer count" {
		l.Pushed = [pushes]Grant{} // these are older than the answer that the lease has to wait
	}
}

// run runs a script for a lease, sent ticks after the request was sent.
func (p *Protocol) run(s *State, kind Kind, id, sent int8, f *Effect) Answer {
	script := Script{Kind: kind, Who: id}
	switch kind {
	case Try, Ask:
		script.Late = sent >= Latest
		script.Answer, script.Pushed = p.Acquire(&s.Server, id, kind == Ask, script.Late)
	case Renew:
		script.Answer = p.Renew(&s.Server, id)
	case Held:
		script.Answer = p.Held(&s.Server, id)
	case Downgrade, DowngradeAnew:
		script.Answer, script.Pushed = p.Downgrade(&s.Server, id, kind == DowngradeAnew)
	case Cancel:
		script.Answer, script.Pushed = p.Cancel(&s.Server, id)
	default:
		script.Answer, script.Pushed = p.Release(&s.Server, id, kind == Retain)
	}
	return f.add(script)
}

// shown applies the answer to a sign of life when the process reads it.
func (p *Protocol) shown(s *State, proc int8, a Answer) {
	for i := range s.Lease {
		if l := &s.Lease[i]; p.Proc[i] == proc && l.Phase == Waiting {
			l.Asks = p.asks(s, int8(i), l.Asks, a)
		}
	}
}

// asks returns in how many ticks a waiter asks again, once its process has shown life.
func (p *Protocol) asks(s *State, id, asks int8, a Answer) int8 {
	switch {
	case a.Owner && (s.Owner == id || s.Holds(id)): // the answer names it
		return 0
	case p.Fault == "the living are not told":
		return asks
	}
	return min(asks, a.Left)
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
