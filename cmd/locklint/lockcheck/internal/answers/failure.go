package answers

import (
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// OutcomeError says which result of fn is an error that is nil only where one of its tries has got the lock, -1 for
// none: fn returns nil on no way without it, also where all of them have failed, and an error on some.
func OutcomeError(fn *ssa.Function, tries []*rediscmd.Command) int {
	at := lastError(fn.Signature.Results())
	if at < 0 || slices.ContainsFunc(tries, func(c *rediscmd.Command) bool {
		return c.Call.Parent() != fn || ssax.IsDeferred(c.Call)
	}) {
		return -1
	}
	e := errorsOf{tries: tries, ways: waysOf(fn, tries)}
	for _, b := range fn.Blocks {
		if b == fn.Recover {
			continue // what is returned after a panic, by every function that defers
		}
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && !e.add(ssax.Returned(ret, at), b, e.ways.to[b], 0) {
			return -1
		}
	}
	if !e.got || !e.refused {
		return -1
	}
	return at
}

// errorsOf are the errors that a function returns: whether one says that it has got the lock, and one that it has not.
type errorsOf struct {
	tries        []*rediscmd.Command
	ways         ways
	got, refused bool
}

// add looks at an error that is returned where some ways lead to a block. It is false if the error may be nil without
// the lock.
func (e *errorsOf) add(v ssa.Value, b *ssa.BasicBlock, on stand, depth int) bool {
	phi, chosen := v.(*ssa.Phi)
	switch {
	case slices.ContainsFunc(e.tries, func(c *rediscmd.Command) bool {
		return c.Reply == rediscmd.ReplyError && isErrorOf(v, c)
	}):
		e.got, e.refused = true, true
	case isCertain(v, b, 0):
		e.fails(on)
	case ssax.IsNilConst(v):
		e.got = true
		return on&^with == 0
	case chosen && e.ways.straight(phi.Block(), b) && depth < ssax.MaxDepth:
		for i, from := range phi.Block().Preds {
			switch on := e.ways.on(from, phi.Block()); {
			case failsOn(from, phi.Block(), phi.Edges[i]):
				e.fails(on)
			case on == unasked && ssax.IsNilConst(phi.Edges[i]) && e.skips(from):
			case !e.add(phi.Edges[i], from, on, depth+1):
				return false
			}
		}
	default:
		return false
	}
	return true
}

// skips reports whether all tries stand in loops behind a block, which leads past them with not one round.
func (e *errorsOf) skips(from *ssa.BasicBlock) bool {
	return !slices.ContainsFunc(e.tries, func(c *rediscmd.Command) bool {
		return !from.Dominates(c.Call.Block()) || !ssax.Reaches(c.Call.Block(), c.Call.Block())
	})
}

// fails notes an error that is certainly there on some ways.
func (e *errorsOf) fails(on stand) { e.refused = e.refused || on&without > 0 }

// isCertain reports whether an error is there in a block, be it as one of those that it is made of.
func isCertain(err ssa.Value, b *ssa.BasicBlock, depth int) bool {
	if isFailure(err) || failedBefore(b, err) || ssax.IsEndOf(err) {
		return true
	}
	call, ok := err.(*ssa.Call)
	if !ok || depth > ssax.MaxDepth {
		return false
	}
	list, _ := ssax.MadeOf(call)
	return slices.ContainsFunc(list, func(e ssa.Value) bool { return isCertain(e, b, depth+1) })
}

// isFailure reports whether an error is certainly one: made here, or a variable of a package.
func isFailure(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return true
	case *ssa.Call:
		fn := v.Call.StaticCallee()
		return fn != nil && fn.Pkg != nil && (fn.Pkg.Pkg.Path() == "errors" && fn.Name() == "New" ||
			fn.Pkg.Pkg.Path() == "fmt" && fn.Name() == "Errorf" || makesErrors.MatchString(fn.Name()))
	case *ssa.UnOp:
		_, ok := v.X.(*ssa.Global)
		return ok
	}
	return false
}

var makesErrors = regexp.MustCompile(`^(?:New|Wrap|Errorf|WithStack|WithMessage)|Err(?:or)?$`)

// failedBefore reports whether a block runs only where v is an error.
func failedBefore(b *ssa.BasicBlock, v ssa.Value) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) == 1 && failsOn(b.Idom(), b, v) {
			return true
		}
	}
	return false
}

// failsOn reports whether the branch from one block to another is taken only where v is an error.
func failsOn(from, to *ssa.BasicBlock, v ssa.Value) bool {
	cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok || from.Succs[0] == from.Succs[1] {
		return false
	}
	cmp, ok := cond.Cond.(*ssa.BinOp)
	if !ok || ssax.SoleValue(cmp.X) != v && cmp.X != v {
		return false
	}
	failed, isErr := ssax.ErrorBranch(cmp)
	return isErr && from.Succs[failed] == to
}

// isErrorOf reports whether a value is the error of the call that is c.
func isErrorOf(v ssa.Value, c *rediscmd.Command) bool {
	if ex, ok := v.(*ssa.Extract); ok {
		return ex.Index == c.Result && ex.Tuple == ssa.Value(c.Call.Value())
	}
	return v == ssa.Value(c.Call.Value())
}

func lastError(results *types.Tuple) int {
	at := results.Len() - 1
	if at < 0 || !ssax.IsError(results.At(at).Type()) {
		return -1
	}
	return at
}

// Refused reports whether a block runs only where an acquire has not got the lock.
func Refused(b *ssa.BasicBlock, c *rediscmd.Command) bool {
	held, lost := sides(b, TestsOf(c))
	return lost && !held
}

// sides says whether a block runs only with the lock, or only without it, as some tests of its outcome say.
func sides(b *ssa.BasicBlock, tests []outcomeTest) (held, lost bool) {
	for _, t := range tests {
		if t.block.Parent() != b.Parent() {
			continue
		}
		held = held || only(t.taken(), b)
		lost = lost || only(t.lost(), b)
	}
	return held, lost
}

// only reports whether b is reached through the branch that begins with first, and in no other way.
func only(first, b *ssa.BasicBlock) bool { return len(first.Preds) == 1 && first.Dominates(b) }
