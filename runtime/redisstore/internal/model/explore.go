package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// Bounds limits an exploration.
type Bounds struct {
	Leases int
	// Faults bounds the sum of late replies, deaths, lost subscriptions and Breaks. Lost pushes, callers that give up
	// and passing time have no bound.
	Faults int
	// Proc tells which process each lease belongs to.
	Proc [MaxLeases]int8
	// TTL is how long each lease lasts. If all are 0, it is TTL ticks.
	TTL [MaxLeases]int8
	// Liveness is how many ticks a process that has shown itself counts as live. 0 is Liveness ticks.
	Liveness int8
	// Kind is what each lease asks for. Old is which processes know no kinds. Downgrades is whether writers may
	// downgrade.
	Kind       [MaxLeases]int8
	Old        [MaxProcs]bool
	Downgrades bool
	// Unsubscribed is whether processes begin without a subscription.
	Unsubscribed bool
	// States bounds the states that are visited. 0 is no limit.
	States int
}

// Result is what an exploration has seen.
type Result struct {
	States, Steps, Depth int
	// Complete is whether all states within the bounds were seen.
	Complete bool
}

// Violation is a state that must not be, and how it came to be.
type Violation struct {
	What  error
	Trace []Event
	State State
}

// Error implements error.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", v.What)
	for i, e := range v.Trace {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, e)
	}
	return b.String() + "which is, leases in any order, " + v.State.String()
}

// Explore visits every state that can be reached within the bounds, nearest first, so that the trace to a violation is
// a shortest one. States are remembered by a 64-bit hash: two that share one by accident count as one.
func (p *Protocol) Explore(bounds Bounds) (Result, *Violation) {
	p.Proc, p.Liveness, p.Downgrades = bounds.Proc, bounds.Liveness, bounds.Downgrades
	if bounds.TTL == [MaxLeases]int8{} {
		bounds.TTL = Equal
	}
	x := &explorer{p: p, bounds: bounds, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}), symmetric: true}
	for i := range bounds.Leases {
		x.symmetric = x.symmetric && bounds.Proc[i] == int8(i)
	}
	start := x.start()
	x.add(start, step{})
	layer := []State{start}
	for first := 0; len(layer) > 0; x.result.Depth++ {
		var next []State
		base := len(x.steps)
		for i := range layer {
			if bounds.States > 0 && len(x.steps) >= bounds.States {
				return x.end(false), nil
			}
			var violation *Violation
			next, violation = x.expand(&layer[i], first+i, next)
			if violation != nil {
				return x.end(false), violation
			}
		}
		layer, first = next, base
	}
	return x.end(true), nil
}

type explorer struct {
	p         *Protocol
	bounds    Bounds
	symmetric bool // every lease has a process of its own, so leases differ only in their names
	seed      maphash.Seed
	seen      map[uint64]struct{}
	steps     []step // how each state was reached first, in the order of their discovery
	result    Result
}

type step struct {
	from  int32
	event Event
}

// start is the state before anything happened.
func (x *explorer) start() State {
	s := Start(x.bounds.Faults, x.bounds.TTL)
	s.Kind, s.Old = x.bounds.Kind, x.bounds.Old
	for i := range x.bounds.Leases {
		s.Cut[x.bounds.Proc[i]] = x.bounds.Unsubscribed
	}
	return s
}

// add reports whether a state is new.
func (x *explorer) add(s State, by step) bool {
	hash := maphash.Comparable(x.seed, s)
	if _, ok := x.seen[hash]; ok {
		return false
	}
	x.seen[hash] = struct{}{}
	x.steps = append(x.steps, by)
	return true
}

// expand takes every step from one state, and adds what is new to next.
func (x *explorer) expand(s *State, at int, next []State) ([]State, *Violation) {
	var violation *Violation
	x.p.Next(s, x.bounds.Leases, func(e Event) {
		if violation != nil {
			return
		}
		x.result.Steps++
		after, effect := x.p.Step(*s, e)
		err := x.p.Check(&after, &effect)
		after, _ = x.canonical(after)
		if err == nil && !x.add(after, step{int32(at), e}) {
			return
		}
		for i := 0; err == nil && i < x.bounds.Leases; i++ {
			if err = x.p.Rescue(after, int8(i)); err == nil {
				err = x.p.RescueShared(after, int8(i))
			}
		}
		if err != nil {
			violation = &Violation{What: err, Trace: x.trace(at, e), State: after}
			return
		}
		next = append(next, after)
	})
	return next, violation
}

// canonical returns the one state that stands for all that do not differ in what can still happen.
func (x *explorer) canonical(s State) (State, order) {
	x.p.forget(&s, x.bounds.Leases)
	s.renumber()
	if !x.symmetric {
		return s, unsorted
	}
	return s.sorted(x.seed, x.bounds.Leases)
}

// trace returns the events on the way to a state, and one more, with the names that the leases had in the beginning.
func (x *explorer) trace(at int, last Event) []Event {
	var events []Event
	for ; at != 0; at = int(x.steps[at].from) {
		events = append(events, x.steps[at].event)
	}
	slices.Reverse(events)
	events = append(events, last)
	names := unsorted
	s := x.start()
	for i, e := range events {
		after, _ := x.p.Step(s, e)
		events[i].Who = uint8(names[e.Who])
		next, o := x.canonical(after)
		s = next
		was := names
		for j := range names {
			names[j] = was[o[j]]
		}
	}
	return events
}

func (x *explorer) end(complete bool) Result {
	x.result.States, x.result.Complete = len(x.steps), complete
	return x.result
}
