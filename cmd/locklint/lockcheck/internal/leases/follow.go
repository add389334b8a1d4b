// Package leases follows leases, and the locks of other libraries, path by path: where they are acquired, held,
// released and left behind, and what functions do with them for their callers.
package leases

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file is the analysis behind the checks of paths: a forward data flow over the SSA form of one function for one
// lease. What is said of leases here holds for the locks of the other libraries, too (see handles.go). A
// block is visited once for every different state that reaches it, until no new state turns up. States of different
// paths are kept apart instead of being merged, so that a flag which says whether the lock was taken (wasLocked)
// leads to the right branch later on. A lease with more states than maxStates is given up: no check reports it, and
// GivenUp lists it for those who ask.

// maxStates bounds the visits of blocks for one lease, literals included, and maxTotal those for all leases that one
// function acquires, where a visit with much to remember counts for several: what is left then is given up. Real functions
// need some dozens for a lease.
const (
	maxStates = 3000
	maxTotal  = 100 * maxStates
	// muchKnown is how many values a visit remembers that counts as one.
	muchKnown = 50
	// maxCloser bounds the visits with the contents of variables.
	maxCloser = maxStates / 3
)

// A Leak is a way out of the function with the lease held.
type Leak struct {
	Exit  ssa.Instruction // an *ssa.Return, or the acquire that is reached again in a loop
	Trail *visit          // how it is reached
}

// Granted reports whether the lease is certainly there at that place.
func (l Leak) Granted() bool { return l.Trail.State.verdict == granted }

// A Flow is the result of following one lease.
type Flow struct {
	Site     *Site
	Fn       *ssa.Function
	Leaks    []Leak
	Returned map[*ssa.Return]int // exits that hand the lease to the caller, with the index of the result
	Released bool                // on some path
	HandedOn bool                // on some path it is stored, returned, or given to somebody who may keep it
	GaveUp   bool

	Releases map[ssa.CallInstruction]bool // where it is released; the value: by a deferred call or literal
	Inside   map[ssa.Instruction]bool     // calls, go and defer statements that run with the lease certainly held
	Outside  map[ssa.Instruction]bool     // those that run though the acquire is known to have failed
	Unasked  map[ssa.Instruction]bool     // those that run before anybody has found out whether there is a lease
	Undue    map[ssa.CallInstruction]bool // releases of them
	Hasty    map[ssa.CallInstruction]bool // uses of the lease before anybody has looked whether there is one
	ways     map[edge]ways
}

// A GivenUp is a lease that was not followed to the end, because too many ways lead through the function.
type GivenUp struct {
	Pos  token.Pos
	Fn   *ssa.Function
	What string // such as "the lock from Obtain"
}

// An edge leads from one block to another.
type edge struct{ from, to *ssa.BasicBlock }

// ways are the outcomes of the acquire with which an edge is taken.
type ways struct{ granted, refused bool }

// Taken reports whether the way from one block to another is taken with the lock, and whether it is without it, because
// the acquire has failed.
func (flow *Flow) Taken(from, to *ssa.BasicBlock) (granted, refused bool) {
	w := flow.ways[edge{from, to}]
	return w.granted, w.refused
}

func (flow *Flow) take(from, to *ssa.BasicBlock, v verdict) {
	if v == unasked {
		return
	}
	w := flow.ways[edge{from, to}]
	w.granted, w.refused = w.granted || v == granted, w.refused || v == refused
	flow.ways[edge{from, to}] = w
}

func newSiteFlow(fn *ssa.Function, site *Site) *Flow {
	return &Flow{
		Site: site, Fn: fn, Returned: map[*ssa.Return]int{}, Releases: map[ssa.CallInstruction]bool{},
		Inside: map[ssa.Instruction]bool{}, Outside: map[ssa.Instruction]bool{}, Unasked: map[ssa.Instruction]bool{},
		Undue: map[ssa.CallInstruction]bool{}, Hasty: map[ssa.CallInstruction]bool{}, ways: map[edge]ways{},
	}
}

// IsDeferred reports whether the lease is released by a deferred call on some path.
func (flow *Flow) IsDeferred() bool {
	for _, deferred := range flow.Releases {
		if deferred {
			return true
		}
	}
	return false
}

// A visit is one state at the entry of one block, linked to where it came from.
type visit struct {
	Block *ssa.BasicBlock
	State pathState
	From  *visit
}

// A follower follows one lease through one function and the function literals that it calls.
type follower struct {
	li       *Info
	fn       *ssa.Function
	site     *Site // nil when a parameter is followed
	flow     *Flow
	exits    []leaseState // of a followed parameter: its state at each return
	tested   map[string]int
	visits   int
	most     int                // visits, before it gives up
	cost     int                // of the visits
	mostCost int                // before it gives up
	twice    map[ssa.Value]bool // those that are read in several places
	depth    int                // of function literals being called
	ending   int                // of deferred literals being run
	asked    map[ssa.Value]bool // variables that literals compare with nil, see askedLater
	subjects subjects           // the variables whose contents are followed
	places   *places
	bearing  *bearings // nil: everything has one
}

// followSite follows the lease that a call returns. If there is anything to say of it, numbers, texts and lists may speak
// against that: it is followed once more with them, unless that leads too far.
func followSite(li *Info, fn *ssa.Function, site *Site) *Flow {
	var bearing *bearings
	flow := followKnowing(li, fn, site, nil, nil, maxStates)
	if flow.GaveUp {
		if bearing = li.bearingsOn(fn, site); bearing != nil {
			flow = followKnowing(li, fn, site, nil, bearing, maxStates)
		}
	}
	if subjects := li.subjectsIn(fn); !flow.GaveUp && !flow.isCalm() && len(subjects) > 0 {
		closer := &Flow{GaveUp: true}
		if bearing == nil {
			closer = followKnowing(li, fn, site, subjects, nil, maxCloser)
			if closer.GaveUp {
				bearing = li.bearingsOn(fn, site)
			}
		}
		if closer.GaveUp && bearing != nil {
			closer = followKnowing(li, fn, site, bearing.of(subjects), bearing, maxCloser)
		}
		if !closer.GaveUp {
			flow = closer
		}
	}
	if flow.GaveUp {
		li.GivenUp = append(li.GivenUp, GivenUp{site.Call.Pos(), fn, "the lock from " + site.Name})
	}
	return flow
}

// isCalm reports whether no check has anything to say of how a lease was followed.
func (flow *Flow) isCalm() bool {
	if len(flow.Leaks) > 0 || len(flow.Undue) > 0 {
		return false
	}
	for instr := range flow.Outside {
		if flow.Inside[instr] {
			return false
		}
	}
	return true
}

// followKnowing is followSite with the variables whose contents are followed, and those that have a bearing on the lease
// where others are to be left aside.
func followKnowing(li *Info, fn *ssa.Function, site *Site, subjects subjects, bearing *bearings, most int) *Flow {
	f := &follower{li: li, fn: fn, site: site, most: most, mostCost: maxTotal - li.costs[fn], subjects: subjects,
		places: li.placesIn(fn), bearing: bearing}
	f.flow = newSiteFlow(fn, site)
	f.tested = li.testedIn(fn)
	s := newPathState()
	s.only = site.only
	if p, ok := site.Recv.(*ssa.Parameter); ok {
		s.set(p, theLease)
	}
	f.run(fn, s)
	li.costs[fn] += f.cost
	return f.flow
}

// followParam follows a lease that a function is given.
func followParam(li *Info, fn *ssa.Function, p *ssa.Parameter) fate {
	f := &follower{li: li, fn: fn, most: maxStates, mostCost: maxTotal, tested: li.testedIn(fn), places: li.placesIn(fn)}
	f.flow = newSiteFlow(fn, nil)
	s := newPathState()
	s.Lease, s.verdict = held, granted
	s.set(p, theLease)
	f.run(fn, s)
	if f.flow.GaveUp {
		li.GivenUp = append(li.GivenUp, GivenUp{p.Pos(), fn, "the lock that is handed in as " + p.Name()})
	}
	if f.flow.GaveUp || len(f.exits) == 0 {
		return fateUnknown
	}
	result := fateUnknown
	for _, st := range f.exits {
		at := fateUnknown
		switch st {
		case released:
			at = fateReleased
		case held:
			at = fateBorrowed
		}
		if at == fateUnknown || result != fateUnknown && result != at {
			return fateUnknown
		}
		result = at
	}
	if result == fateReleased && li.areHarmless(f.flow.Releases) {
		return fateGuarded
	}
	return result
}

// run analyses a function from a state and returns the states at its returns.
func (f *follower) run(fn *ssa.Function, start pathState) []pathState {
	if len(fn.Blocks) == 0 {
		f.flow.GaveUp = true
		return nil
	}
	var ends []pathState
	seen := map[*ssa.BasicBlock]map[stateKey]bool{}
	queue := []*visit{{Block: fn.Blocks[0], State: start.clone()}}
	for len(queue) > 0 && !f.flow.GaveUp {
		v := queue[0]
		queue = queue[1:]
		key := v.State.key()
		if seen[v.Block] == nil {
			seen[v.Block] = map[stateKey]bool{}
		}
		if seen[v.Block][key] {
			continue
		}
		seen[v.Block][key] = true
		f.visits++
		f.cost += 1 + (len(v.State.known)+len(v.State.contents)+len(v.State.conds))/muchKnown
		if f.visits > f.most || f.cost > f.mostCost {
			f.flow.GaveUp = true
			return nil
		}
		for _, st := range f.block(v, &ends) {
			queue = append(queue, f.edges(v, st)...)
		}
	}
	return ends
}

// block runs the instructions of a block. Calls of function literals can split the state, so there may be several.
func (f *follower) block(v *visit, ends *[]pathState) []pathState {
	states := []pathState{v.State.clone()}
	for _, instr := range v.Block.Instrs {
		if len(states) == 0 {
			return nil
		}
		var next []pathState
		for _, s := range states {
			if ret, ok := instr.(*ssa.Return); ok {
				f.leave(v, ret, s, ends)
				continue
			}
			next = append(next, f.step(v, instr, s)...)
		}
		states = next
	}
	return states
}

// leave handles a return of the function or of a literal that it called.
func (f *follower) leave(v *visit, ret *ssa.Return, s pathState, ends *[]pathState) {
	if f.depth > 0 {
		for _, r := range ret.Results {
			if s.of(r) == theLease {
				s.Lease = escaped
			}
		}
		*ends = append(*ends, s)
		return
	}
	for i, r := range ret.Results {
		if s.of(r) == theLease && (s.Lease == held || s.Lease == unchecked) {
			f.flow.Returned[ret] = i
			s.Lease = escaped
		}
	}
	f.gone(&s)
	if f.site == nil {
		f.exits = append(f.exits, s.Lease)
	} else if s.Lease == held || s.Lease == unchecked && !s.consulted {
		f.flow.Leaks = append(f.flow.Leaks, Leak{ret, v})
	}
}

// gone notes that a path ends, or begins another round, with the lease in other hands.
func (f *follower) gone(s *pathState) {
	f.flow.HandedOn = f.flow.HandedOn || s.Lease == escaped && !s.over && s.verdict != refused
}

// edges continues a state at the successors of its block.
func (f *follower) edges(v *visit, s pathState) []*visit {
	b := v.Block
	var out []*visit
	for _, next := range f.branches(b, s) {
		succ, s := next.to, next.state
		f.flow.take(b, succ, s.verdict)
		again := succ.Dominates(b) // another round of a loop
		if again {
			s.conds = nextRound(s.conds)
		}
		if (s.Lease == held || s.Lease == unchecked) && (f.skipsRelease(b, succ) || f.isClaimed(b, succ)) {
			s.Lease, s.over = escaped, true
		}
		f.enter(&s, b, succ)
		f.nextElement(&s, b, succ)
		f.round(&s, succ, again)
		f.forget(&s, succ, again)
		out = append(out, &visit{Block: succ, State: s, From: v})
	}
	return out
}

// A branched is a state on its way into a block.
type branched struct {
	to    *ssa.BasicBlock
	state pathState
}

// branches are the ways on which a state leaves its block.
func (f *follower) branches(b *ssa.BasicBlock, s pathState) []branched {
	var out []branched
	branch, _ := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	for i, succ := range b.Succs {
		next := s.clone()
		if branch == nil || f.assume(&next, branch.Cond, i == 0) {
			out = append(out, branched{succ, next})
		}
	}
	return out
}

// enter gives the phis of a block their values, all at once as the SSA form demands.
func (f *follower) enter(s *pathState, from, to *ssa.BasicBlock) {
	edge := 0
	for i, p := range to.Preds {
		if p == from {
			edge = i
		}
	}
	values, contents := map[ssa.Value]abstract{}, map[ssa.Value]content{}
	for _, instr := range to.Instrs {
		phi, ok := instr.(*ssa.Phi)
		if !ok {
			break
		}
		values[phi] = f.worthKnowing(s.of(phi.Edges[edge]), phi.Type())
		if values[phi] == unknown && f.followsNil(phi) {
			values[phi] = nilness(phi.Edges[edge], s, from)
		}
		if values[phi] >= isNil && !f.bearing.has(phi) {
			values[phi] = unknown
		}
		contents[phi] = f.entering(s, phi, edge)
	}
	for phi, a := range values {
		f.renewed(phi, s)
		s.set(phi, a)
		f.put(phi, contents[phi], s)
	}
}

// entering is the content of a phi on an edge into its block.
func (f *follower) entering(s *pathState, phi *ssa.Phi, edge int) content {
	c := s.content(phi.Edges[edge], 0)
	if isText(phi.Type()) && !c.exact && c.lo == 0 && slices.ContainsFunc(phi.Edges, isEmptyText) {
		c.lo = 1 // a variable that is empty where nothing was picked holds what was picked
	}
	if !c.computed || !phi.Block().Dominates(phi.Block().Preds[edge]) {
		return c
	}
	old, known := s.contents[phi]
	marks := f.subjects[phi].marks
	if !known || !old.computed { // nothing, or what it has been in the first round
		return c.marked(marks)
	}
	return widen(old, c, marks)
}

// worthKnowing forgets what cannot decide a branch: only leases, errors and flags do. The lease itself is never lost
// sight of, whatever the type of the variable that it goes into, nor is the flag, which may be a channel.
func (f *follower) worthKnowing(a abstract, t types.Type) abstract {
	if a == theLease || a == theFlag || f.li.libraryOf(t) != clients.None || ssax.IsError(t) || ssax.IsBool(t) {
		return a
	}
	return unknown
}
