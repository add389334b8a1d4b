package model

import "fmt"

// The kinds of events. A call is made, executed and answered in one event, unless it is slow: then others come between.
const (
	evTry       uint8 = iota // a lease is asked for, without waiting
	evAsk                    // a lease is asked for
	evPoke                   // a waiter asks again
	evPush                   // a pushed grant arrives; those before it got lost
	evRenew                  // a holder renews
	evRelease                // a holder releases
	evRetain                 // a holder releases before its MinHold is over
	evDowngrade              // a writer downgrades to a reader
	evLeave                  // a caller gives up waiting
	evPass                   // a caller gives up waiting, and the next of its process asks with the same id
	evCheck                  // a process asks whether a lease still holds the lock
	evAgain                  // a lease that was taken back is taken back again
	evExecute                // the server executes a slow call
	evReply                  // the reply to a slow call arrives
	evRepeat                 // a slow call is repeated: it or its reply is late
	evGiveUp                 // the caller of a slow call gives up: it or its reply is late
	evLost                   // the push that tells of a Break arrives
	evLate                   // the server executes a request that its sender has given up
	evAlive                  // a process shows that it lives
	evCrash                  // a process dies
	evCut                    // a process loses its subscription, and the pushes under way
	evSubscribe              // a process is subscribed again
	evName                   // an operator asks for a Break of the lease that holds the lock
	evBreak                  // the server executes a Break; it may be repeated
	evTick                   // time passes
)

var eventNames = [...]string{"try", "ask", "poke", "push", "renew", "release", "retain", "downgrade", "leave", "pass on", "check",
	"again", "execute", "reply", "repeat", "give up", "told of break", "late execute", "alive", "crash", "cut", "subscribe",
	"name", "break", "tick"}

// Event is something that can happen to a lease, a process or the server.
type Event struct {
	What, Who, Which uint8
	Slow             bool // the call that it begins is slow
}

func (e Event) String() string {
	text := eventNames[e.What]
	if e.What < evName {
		text = fmt.Sprint(text, " ", e.Who)
	}
	if e.What == evName && e.Which >= nameShare {
		text += fmt.Sprint(" lease ", e.Who)
	}
	if e.What == evName && e.Which%2 == 1 {
		text += " by force"
	}
	if e.Slow {
		text += ", slowly"
	}
	return text
}

// Next calls visit with everything that can happen in s. leases is how many there are.
func (p *Protocol) Next(s *State, leases int, visit func(Event)) {
	for i := range leases {
		l, who := &s.Lease[i], uint8(i)
		if l.Late.Kind != NoCall {
			visit(Event{What: evLate, Who: who})
		}
		if l.Call.Kind != NoCall && !l.Call.Done {
			visit(Event{What: evExecute, Who: who})
		}
		if !s.Dead[p.Proc[i]] {
			p.nextOf(s, l, who, visit)
		}
	}
	for proc := range MaxProcs {
		p.nextOfProcess(s, leases, uint8(proc), visit)
	}
	if s.Faults > 0 && s.Owner != None && s.Runs == 0 {
		s.nameable(visit)
	}
	if s.Runs > 0 {
		visit(Event{What: evBreak})
	}
	visit(Event{What: evTick})
}

// Whom a Break names.
const (
	nameOwner uint8 = iota
	nameOwnerByForce
	nameShare // of the lease that the event is about
	nameShareByForce
)

// nameable calls visit for every lease that a Break can name. A node that knows no kinds takes a lock that is shared
// for one lease.
func (s *State) nameable(visit func(Event)) {
	old := s.Old != [MaxProcs]bool{}
	if !s.Shared() || old {
		visit(Event{What: evName, Which: nameOwner})
		visit(Event{What: evName, Which: nameOwnerByForce})
	}
	for i := range s.Hold {
		if s.Shared() && s.Hold[i].Left > 0 {
			visit(Event{What: evName, Who: uint8(i), Which: nameShare})
			visit(Event{What: evName, Who: uint8(i), Which: nameShareByForce})
		}
	}
}

func (p *Protocol) nextOf(s *State, l *Lease, who uint8, visit func(Event)) {
	call := func(what, which uint8) {
		visit(Event{What: what, Who: who, Which: which})
		if s.Faults > 0 {
			visit(Event{What: what, Who: who, Which: which, Slow: true})
		}
	}
	calling := l.Call.Kind != NoCall
	if calling {
		if l.Call.Done {
			call(evReply, 0)
		}
		if l.Phase != Refreshing { // the renewal of a late grant is not tried twice
			visit(Event{What: evRepeat, Who: who})
		}
		visit(Event{What: evGiveUp, Who: who})
	}
	if l.Lost {
		visit(Event{What: evLost, Who: who})
	}
	switch l.Phase {
	case New:
		call(evTry, 0)
		call(evAsk, 0)
	case Waiting:
		if calling {
			break // a process reads a reply before later pushes
		}
		call(evLeave, 0)
		call(evPass, 0)
		call(evPoke, 0)
		for j, g := range l.Pushed {
			if g.Epoch != 0 {
				call(evPush, uint8(j))
			}
		}
	case Holding:
		call(evRelease, 0)
		if s.Kind[who] != Reader && !l.Reads {
			call(evRetain, 0)
		}
		if p.Downgrades && s.Kind[who] == Writer && !l.Reads && !s.Old[p.Proc[who]] {
			call(evDowngrade, 0)
			call(evDowngrade, 1)
		}
		if !calling {
			call(evRenew, 0)
			if l.Check {
				call(evCheck, 0)
			}
		}
	case Doubting:
		if l.Doubt == 1 { // the latest moment has passed
			call(evAgain, 0)
		}
	}
}

func (p *Protocol) nextOfProcess(s *State, leases int, proc uint8, visit func(Event)) {
	if s.Dead[proc] {
		return
	}
	waits, busy, late := false, false, false
	for i := range leases {
		if uint8(p.Proc[i]) == proc {
			phase := s.Lease[i].Phase
			waits = waits || phase == Waiting
			late = late || phase == Waiting && (s.Lease[i].Asks > p.wayOff(&s.Server, int8(proc)) ||
				s.Lease[i].Asks > 0 && (s.Owner == int8(i) || s.Holds(int8(i))))
			busy = busy || phase != New && phase != Over
		}
	}
	if s.Cut[proc] {
		visit(Event{What: evSubscribe, Who: proc})
	}
	// A second sign of life in the same tick changes nothing if no lease learns anything by it.
	if waits && (late || s.Live[proc] < p.liveness() || s.WaitersLeft < 2*p.liveness()) {
		visit(Event{What: evAlive, Who: proc})
	}
	if busy && s.Faults > 0 {
		visit(Event{What: evCrash, Who: proc})
		if !s.Cut[proc] {
			visit(Event{What: evCut, Who: proc})
		}
	}
}
