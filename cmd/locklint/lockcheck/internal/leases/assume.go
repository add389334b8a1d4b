package leases

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// assume narrows a state to the branch on which a condition has an outcome. It returns false when the state rules
// that branch out.
func (f *follower) assume(s *pathState, cond ssa.Value, outcome bool) bool {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		return f.assume(s, not.X, !outcome)
	}
	f.notice(s, cond, outcome)
	switch s.of(cond) {
	case isTrue:
		return outcome
	case isFalse:
		return !outcome
	case theFlag:
		return s.learn(outcome)
	case theFailure:
		return s.learn(!outcome)
	case stillHeld, notHeld:
		f.told(s, cond, outcome == (s.of(cond) == stillHeld))
		s.set(cond, truth(outcome))
		return f.remember(s, cond, outcome)
	case failedIfTrue, failedIfFalse:
		failed := outcome == (s.of(cond) == failedIfTrue)
		s.set(cond, truth(outcome))
		return f.remember(s, cond, outcome) && (!failed || s.learn(false))
	}
	if b, ok := cond.(*ssa.BinOp); ok && !f.assumeRelation(s, b, outcome) {
		return false
	}
	if b, ok := cond.(*ssa.BinOp); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		if x, ok := comparedWithNil(s, b); ok {
			null := outcome == (b.Op == token.EQL)
			if f.site != nil && f.site.Recv != nil && s.of(x) == theLease { // there is a mutex, locked or not
				return f.remember(s, cond, outcome) && !(null && s.Lease == held)
			}
			return f.assumeNil(s, x, null)
		}
		if outcome == (b.Op == token.EQL) && isNilTest(b) && f.joins(s, b.X) {
			return f.remember(s, cond, outcome) && s.learn(true)
		}
		if (s.of(b.X) == theError || s.of(b.Y) == theError) && outcome == (b.Op == token.EQL) {
			return f.remember(s, cond, outcome) && s.learn(false) // err == ErrBusy: there is an error
		}
		if x, truth, ok := comparedWithBool(b); ok {
			return f.assume(s, x, outcome == (truth == (b.Op == token.EQL)))
		}
	}
	if call, ok := cond.(*ssa.Call); ok && asksZero(call) {
		return f.remember(s, cond, outcome) && f.assumeNil(s, call.Call.Args[0], outcome)
	}
	if f.saysOver(s, cond, outcome) {
		s.Lease, s.over = released, true
		return true
	}
	if call, ok := cond.(*ssa.Call); ok && outcome && isErrorTest(s, call) {
		// errors.Is(err, …), or a function of the program, finds something: there is an error
		return f.remember(s, cond, outcome) && s.learn(false)
	}
	f.heard(s, cond, outcome)
	return f.remember(s, cond, outcome)
}

func truth(b bool) abstract {
	if b {
		return isTrue
	}
	return isFalse
}

// told records what a call has said that asks whether there still is a lock: if ok, err := mutex.Extend(); !ok. Where
// it has prolonged one of redsync, there is no error.
func (f *follower) told(s *pathState, cond ssa.Value, stillThere bool) {
	if !stillThere && (s.Lease == held || s.Lease == unchecked) {
		s.Lease, s.over = released, true
	}
	if stillThere && s.verdict == refused {
		s.Lease = escaped // another one
	}
	ex, ok := cond.(*ssa.Extract)
	if !ok || !stillThere {
		return
	}
	for _, use := range *ex.Tuple.Referrers() {
		if err, ok := use.(*ssa.Extract); ok && f.saysNotExtended(s, err) {
			s.set(err, isNil)
		}
	}
}

// saysOver reports whether the lease is over where a condition has an outcome: it is the case of a select that received
// from Done, Err has returned an error, its time is over, or who asked to prolong it was told that it is not there any more.
func (f *follower) saysOver(s *pathState, cond ssa.Value, outcome bool) bool {
	if s.Lease != held && s.Lease != unchecked {
		return false
	}
	if saysExpired(s, cond, outcome) {
		return true
	}
	switch cond := cond.(type) {
	case *ssa.Call: // errors.Is(lock.Refresh(…), redislock.ErrNotObtained)
		fn := cond.Call.StaticCallee()
		return outcome && fn != nil && ssax.CalleeName(fn) == "errors.Is" && isLibraryError(cond.Call.Args[1]) &&
			f.asksIfHeld(s, callOf(cond.Call.Args[0]))
	}
	b, ok := cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	if isLibraryError(b.Y) && outcome == (b.Op == token.EQL) && (b.Op == token.EQL || b.Op == token.NEQ) {
		return f.asksIfHeld(s, callOf(b.X))
	}
	if ex, ok := b.X.(*ssa.Extract); ok && b.Op == token.EQL && outcome {
		sel, isSelect := ex.Tuple.(*ssa.Select)
		i := ssax.IntOf(b.Y)
		return isSelect && ex.Index == 0 && 0 <= i && i < len(sel.States) && isDone(s, sel.States[i].Chan)
	}
	if !isNilTest(b) || !ssax.IsNilConst(b.Y) || outcome != (b.Op == token.NEQ) {
		return false
	}
	call, ok := b.X.(*ssa.Call)
	return ok && asksLease(s, call, "Err") || f.saysNotExtended(s, b.X)
}

// asksIfHeld reports whether a call prolongs the lease, or asks whether it is valid. It may be nil.
func (f *follower) asksIfHeld(s *pathState, call *ssa.Call) bool {
	if call == nil {
		return false
	}
	m, ok := ssax.MethodOf(&call.Call)
	return ok && m.Recv != nil && s.of(m.Recv) == theLease &&
		(f.li.VerbOf(&call.Call, m.Recv) == handles.VerbExtend || m.Obj.Name() == "Valid" || m.Obj.Name() == "ValidContext")
}

// callOf is the call that a value is the result of, or one of its results. Nil for other values.
func callOf(v ssa.Value) *ssa.Call {
	v = ssax.SoleValue(v)
	if ex, ok := v.(*ssa.Extract); ok {
		v = ex.Tuple
	}
	call, _ := v.(*ssa.Call)
	return call
}

// isLibraryError reports whether a value is an error variable of a library of locks.
func isLibraryError(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok || !ssax.IsError(v.Type()) {
		return false
	}
	g, ok := load.X.(*ssa.Global)
	return ok && clients.IsKept(clients.OfPackage(g.Pkg.Pkg))
}

// isDone reports whether a channel is closed when the lease is over. That of its context is no such channel, because
// the context ends with that of the caller, too.
func isDone(s *pathState, ch ssa.Value) bool {
	call, ok := ch.(*ssa.Call)
	return ok && asksLease(s, call, "Done")
}

// asksLease reports whether a call is that of a method of the lease.
func asksLease(s *pathState, call *ssa.Call, name string) bool {
	m, ok := ssax.MethodOf(&call.Call)
	return ok && m.Recv != nil && m.Obj.Name() == name && s.of(m.Recv) == theLease
}

// assumeNil narrows by x == nil.
func (f *follower) assumeNil(s *pathState, x ssa.Value, null bool) bool {
	switch s.of(x) {
	case theLease, theFlag: // Consul's channel is its flag
		return s.learn(!null)
	case theError:
		return null && f.site != nil && f.site.Both || s.learn(null)
	case isNil:
		return null
	case notNil:
		return !null
	}
	return true
}

// joins reports whether a value is made of the acquire's error and others, so that it is nil only if all of them are.
func (f *follower) joins(s *pathState, v ssa.Value) bool {
	call, ok := v.(*ssa.Call)
	if !ok || f.site != nil && f.site.Both {
		return false
	}
	list, _ := ssax.MadeOf(call)
	return slices.ContainsFunc(list, func(e ssa.Value) bool { return s.of(e) == theError })
}

// learn records whether the acquire succeeded.
func (s *pathState) learn(success bool) bool {
	if s.verdict != unasked {
		return success == (s.verdict == granted)
	}
	switch s.Lease {
	case Absent:
		return !success // not acquired on this path
	case unchecked:
		s.Lease = Absent
		if success {
			s.Lease = held
		}
	}
	s.verdict = refused
	if success {
		s.verdict = granted
	}
	return true // released or escaped: both may happen before anybody looks
}

// comparedWithNil returns the other side of a comparison with nil.
func comparedWithNil(s *pathState, b *ssa.BinOp) (ssa.Value, bool) {
	switch {
	case ssax.IsNilConst(b.Y) && !ssax.IsBool(b.Y.Type()):
		return b.X, s.of(b.X) != unknown
	case ssax.IsNilConst(b.X) && !ssax.IsBool(b.X.Type()):
		return b.Y, s.of(b.Y) != unknown
	}
	return nil, false
}

// comparedWithBool returns the other side of a comparison with true or false.
func comparedWithBool(b *ssa.BinOp) (x ssa.Value, truth, ok bool) {
	for _, side := range [2][2]ssa.Value{{b.X, b.Y}, {b.Y, b.X}} {
		if c, isConst := side[1].(*ssa.Const); isConst && c.Value != nil && ssax.IsBool(c.Type()) {
			return side[0], c.Value.String() == "true", true
		}
	}
	return nil, false, false
}

// isErrorTest reports whether a condition is a call that is handed the acquire's error, such as errors.Is, or isBusy:
// predicates on errors find nothing in a nil error.
func isErrorTest(s *pathState, call *ssa.Call) bool {
	return slices.ContainsFunc(call.Call.Args, func(a ssa.Value) bool { return s.of(a) == theError })
}
