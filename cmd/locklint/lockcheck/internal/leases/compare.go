package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// assumeRelation narrows by a comparison of numbers or texts. It returns false when what is known of them rules the outcome
// out.
func (f *follower) assumeRelation(s *pathState, b *ssa.BinOp, outcome bool) bool {
	when := holdsFor(b.Op)
	t := b.X.Type()
	if when == 0 || !isNumber(t) && !isText(t) {
		return true
	}
	if !outcome {
		when = anyRelation &^ when
	}
	x, y := s.content(b.X, 0).whole(t), s.content(b.Y, 0).whole(t)
	left := when & relation(x, y, t)
	if left == 0 {
		return false
	}
	f.narrow(s, b, b.X, left, y)
	f.narrow(s, b, b.Y, left.swapped(), x)
	return true
}

// narrow records that a value stands to another in one of some relations, if it is followed.
func (f *follower) narrow(s *pathState, cond *ssa.BinOp, v ssa.Value, r relations, other content) {
	of, t := v, v.Type()
	for range ssax.MaxDepth {
		switch made := of.(type) {
		case *ssa.BinOp:
			by, ok := constNumber(made.Y)
			switch {
			case ok && made.Op == token.ADD:
				by = -by
			case !ok || made.Op != token.SUB:
				return
			}
			other = content{lo: plus(other.lo, by), hi: plus(other.hi, by)}
			of = made.X
		case *ssa.Call:
			if !isLen(made) {
				return
			}
			of = made.Call.Args[0]
		case *ssa.Phi, *ssa.Parameter:
			f.put(of, s.content(of, 0).whole(t).within(r, other, t), s)
			return
		case *ssa.UnOp:
			f.narrowVariable(s, cond, made, s.content(made, 0).whole(t).within(r, other, t))
			return
		default:
			return
		}
	}
}

// narrowVariable records what a load has read, and what its variable still holds.
func (f *follower) narrowVariable(s *pathState, cond *ssa.BinOp, load *ssa.UnOp, c content) {
	cell := f.places.variable(load.X)
	if load.Op != token.MUL || cell == nil || !f.follows(load) {
		return
	}
	f.put(load, c, s)
	if f.decidesOn(cond, load, cell) {
		f.put(cell, c, s)
	}
}

// outcomeOf is what a comparison of numbers or texts yields, if that is certain.
func outcomeOf(b *ssa.BinOp, s *pathState) abstract {
	when, t := holdsFor(b.Op), b.X.Type()
	if when == 0 || !isNumber(t) && !isText(t) {
		return unknown
	}
	return outcome(when, relation(s.content(b.X, 0).whole(t), s.content(b.Y, 0).whole(t), t))
}

// outcome is what a comparison yields that is true for some relations, where two values stand in one of others.
func outcome(when, r relations) abstract {
	switch {
	case r&when == 0:
		return isFalse
	case r&^when == 0:
		return isTrue
	}
	return unknown
}

// asksZero reports whether a call asks whether a time is the zero time.
func asksZero(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	return fn != nil && ssax.CalleeName(fn) == "(time.Time).IsZero"
}
