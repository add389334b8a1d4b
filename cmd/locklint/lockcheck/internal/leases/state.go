package leases

import (
	"hash/maphash"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A leaseState is where a lease stands on one path.
type leaseState uint8

const (
	Absent    leaseState = iota // not acquired yet, or certainly not acquired
	unchecked                   // the acquire has returned, nobody has looked whether it succeeded
	held
	released // or certain to be: its release is deferred (see pathState.deferred)
	escaped  // stored or handed to somebody unknown, whose business it is now
)

// A verdict is what is known of the outcome of the acquire.
type verdict uint8

const (
	unasked verdict = iota
	granted
	refused
)

// An abstract value is what a path knows about an SSA value or a variable.
type abstract uint8

const (
	unknown abstract = iota
	theLease
	theError   // of the acquire
	theFlag    // the acquire's bool
	theFailure // the opposite of that
	isNil      // certainly nil
	notNil
	isTrue
	isFalse
	failedIfTrue  // true says that the acquire has failed, false says nothing
	failedIfFalse // the opposite of that
	stillHeld     // true says that there still is a lock, false that it is gone
	notHeld       // the opposite of that
	theLiteral    // of a literal that has been made and gone where nobody follows it
)

// negated is what is known of a flag's opposite.
func (a abstract) negated() abstract {
	switch a {
	case isTrue:
		return isFalse
	case isFalse:
		return isTrue
	case theFlag:
		return theFailure
	case theFailure:
		return theFlag
	case stillHeld:
		return notHeld
	case notHeld:
		return stillHeld
	case failedIfTrue:
		return failedIfFalse
	case failedIfFalse:
		return failedIfTrue
	}
	return unknown
}

// A pathState is everything that the analysis knows at one point of one set of paths. It is a value: steps make new
// ones.
type pathState struct {
	Lease   leaseState
	verdict verdict
	// deferred is the statement that releases the lease when the function returns: until then it is held. over is set
	// once it has been released for good.
	deferred *ssa.Defer
	over     bool
	wrapped  ssa.Value // a struct of the program's own that the lease has been put into
	only     bool      // the acquire has no result that says whether it succeeded

	known map[ssa.Value]abstract // SSA values, and variables in memory by their address
	conds map[string]relations   // what is left of what the function asks more than once
	// contents are those of numbers, texts and lists that conditions ask for, see subjects.
	contents map[ssa.Value]content
	// consulted: code that cannot be followed has seen the acquire's error, so it may know that there is no lease.
	consulted bool
	// defers are the deferred function literals in the order of their defer statements; each is entered once, so that
	// the states stay finite in loops.
	defers []*ssa.Defer
}

func newPathState() pathState {
	return pathState{known: map[ssa.Value]abstract{}, conds: map[string]relations{}, contents: map[ssa.Value]content{}}
}

// clone copies the state so that one path's step does not change another's.
func (s pathState) clone() pathState {
	s.known, s.conds, s.contents = maps.Clone(s.known), maps.Clone(s.conds), maps.Clone(s.contents)
	s.defers = slices.Clone(s.defers)
	return s
}

// set records what is known of a value. Ignorance is the absence of an entry, so that equal states have equal keys.
func (s *pathState) set(v ssa.Value, a abstract) {
	if a == unknown {
		delete(s.known, v)
		return
	}
	s.known[v] = a
}

// of says what is known of a value. The address of a variable is not its content.
func (s *pathState) of(v ssa.Value) abstract {
	if s.wrapped != nil && ssax.CellOf(v) == s.wrapped {
		return theLease
	}
	switch v := v.(type) {
	case *ssa.Alloc, *ssa.FreeVar, *place:
		return unknown
	case *ssa.Const:
		switch {
		case v.Value == nil && !ssax.IsBool(v.Type()):
			return isNil
		case ssax.IsBool(v.Type()) && v.Value != nil && v.Value.String() == "true":
			return isTrue
		case ssax.IsBool(v.Type()):
			return isFalse
		}
		return unknown
	}
	return s.known[v]
}

// A stateKey identifies a state among those of one block. What is known comes in no order: the sum of the hashes of all
// that is stands for it.
type stateKey struct {
	lease           leaseState
	verdict         verdict
	wrapped         ssa.Value
	deferred        *ssa.Defer
	over, consulted bool
	facts, defers   uint64
}

var seed = maphash.MakeSeed()

// key identifies the state among those of one block.
func (s *pathState) key() stateKey {
	k := stateKey{lease: s.Lease, verdict: s.verdict, wrapped: s.wrapped, deferred: s.deferred, over: s.over,
		consulted: s.consulted}
	for v, a := range s.known {
		k.facts += maphash.Comparable(seed, fact[ssa.Value, abstract]{v, a})
	}
	for c, b := range s.conds {
		k.facts += maphash.Comparable(seed, fact[string, relations]{c, b})
	}
	for v, c := range s.contents {
		k.facts += maphash.Comparable(seed, fact[ssa.Value, content]{v, c})
	}
	for _, d := range s.defers {
		k.defers = maphash.Comparable(seed, fact[uint64, *ssa.Defer]{k.defers, d}) // their order counts
	}
	return k
}

// A fact is an entry of a map.
type fact[K comparable, V comparable] struct {
	of   K
	what V
}

// acquired starts the life of a lease: whatever was known of an earlier round of a loop is void.
func (s *pathState) acquired() {
	for v, a := range s.known {
		switch a {
		case theLease, theError, theFlag, theFailure, failedIfTrue, failedIfFalse, stillHeld, notHeld:
			delete(s.known, v)
		}
	}
	s.Lease, s.verdict, s.deferred, s.over, s.consulted = unchecked, unasked, nil, false, false
	s.wrapped = nil
}

// locked is acquired for an object that is locked: it is the same one as before, and its unlocking may be deferred
// already, or have been left to somebody else.
func (s *pathState) locked(mutex ssa.Value) {
	for v, a := range s.known {
		switch a {
		case theError, failedIfTrue, failedIfFalse, stillHeld, notHeld:
			delete(s.known, v)
		}
	}
	s.verdict, s.over, s.consulted = unasked, false, false
	switch {
	case s.Lease == escaped:
	case s.deferred != nil:
		s.Lease = released
	default:
		s.Lease = unchecked
	}
	s.setObject(mutex)
}

// setObject records that a value is the object that is locked. A struct that is made is known by its address.
func (s *pathState) setObject(v ssa.Value) {
	if own, ok := ssax.CellOf(v).(*ssa.Alloc); ok {
		s.wrapped = own
		return
	}
	s.set(v, theLease)
}

// another begins a round of a loop with a lock, or a variable for one, that is made anew. What earlier rounds have deferred
// releases theirs when the function returns, and has nothing to do with this one.
func (s *pathState) another(v ssa.Value) {
	n := len(s.defers)
	s.defers = slices.DeleteFunc(s.defers, func(d *ssa.Defer) bool { return sees(d, v) })
	if s.deferred == nil && len(s.defers) == n {
		return
	}
	if s.deferred != nil {
		s.deferred, s.Lease = nil, Absent
	}
	if s.Lease == held || s.Lease == unchecked {
		s.Lease = Absent
	}
}

// sees reports whether a deferred literal has captured a variable, or was given a value.
func sees(d *ssa.Defer, v ssa.Value) bool {
	mc, ok := d.Call.Value.(*ssa.MakeClosure)
	return slices.Contains(d.Call.Args, v) || ok && slices.Contains(mc.Bindings, v)
}

// isRefused reports whether the acquire is known to have failed, and nobody else has taken the matter over.
func (s *pathState) isRefused() bool { return s.verdict == refused && s.Lease != escaped }

// holding reports whether the lease is certainly held at this point.
func (s *pathState) holding() bool {
	if s.over || s.verdict != granted && (s.verdict == refused || !s.only) {
		return false
	}
	return s.Lease == held || s.Lease == unchecked || s.Lease == released && s.deferred != nil
}

// open reports whether nobody has found out yet whether the acquire has succeeded.
func (s *pathState) open() bool {
	return s.verdict == unasked && !s.only && !s.consulted &&
		(s.Lease == unchecked || s.Lease == released && s.deferred != nil && !s.over)
}
