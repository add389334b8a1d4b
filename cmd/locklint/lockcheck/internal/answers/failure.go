package answers

import (
	"go/types"
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// OutcomeError says which result of fn is an error that is nil only where c has got the lock, -1 for none: fn returns an
// error of its own where the key was not set, and nil only behind the question.
func OutcomeError(fn *ssa.Function, c *rediscmd.Command) int {
	at := lastError(fn.Signature.Results())
	if at < 0 || c.Call.Parent() != fn || ssax.IsDeferred(c.Call) {
		return -1
	}
	got, refused := false, false
	tests := TestsOf(c)
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || len(ret.Results) <= at {
			continue
		}
		held, lost := sides(b, tests)
		switch v := ret.Results[at]; {
		case c.Reply == rediscmd.ReplyError && isErrorOf(v, c):
			got, refused = true, true
		case isFailure(v):
			refused = refused || lost && !held
		case !ssax.IsNilConst(v):
			if lost || !failedBefore(b, v) {
				return -1 // may be nil
			}
		case !held || lost:
			return -1
		default:
			got = true
		}
	}
	if !got || !refused {
		return -1
	}
	return at
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
		from := b.Idom()
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		cmp, ok := cond.Cond.(*ssa.BinOp)
		if !ok || ssax.SoleValue(cmp.X) != v && cmp.X != v {
			continue
		}
		if failed, isErr := ssax.ErrorBranch(cmp); isErr && from.Succs[failed] == b {
			return true
		}
	}
	return false
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
