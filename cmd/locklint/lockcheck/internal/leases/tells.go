package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// tellsOutcome reports whether the last result of a method says whether an acquire in it has succeeded: it returns the
// error or the flag itself, or says nil or true only where the acquire has not failed. both: the last result is an
// error that may be nil without the lock, and a bool beside it is false then.
func tellsOutcome(fn *ssa.Function, site *Site) (tells, both bool) {
	results := fn.Signature.Results()
	if results.Len() == 0 {
		return false, false
	}
	last := results.At(results.Len() - 1).Type()
	if !ssax.IsError(last) && !ssax.IsBool(last) {
		return false, false
	}
	flag := -1
	for i := range results.Len() - 1 {
		if ssax.IsBool(results.At(i).Type()) {
			flag = i
		}
	}
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		if b == fn.Recover {
			continue // what is returned after a panic, by every function that defers
		}
		v := ssax.Returned(ret, len(ret.Results)-1)
		switch {
		case isOutcomeOf(v, site):
			tells = true
		case isSuccess(v) && onFailure(b, site):
			if flag < 0 || !saysNo(ssax.Returned(ret, flag)) {
				return false, false
			}
			both = true
		case isSuccess(v):
			tells = tells || site.Call.Block().Dominates(b)
		}
	}
	return tells, both
}

// saysNo reports whether a result is certainly false.
func saysNo(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.String() == "false"
}

// saysYes reports whether a result is certainly true.
func saysYes(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.String() == "true"
}

// isOutcomeOf reports whether a value is the error or the flag of an acquire, or made of it.
func isOutcomeOf(v ssa.Value, site *Site) bool {
	return v != nil && ssax.AnyPart(v, ssax.MaxDepth, func(v ssa.Value) (bool, []ssa.Value) {
		switch v := v.(type) {
		case *ssa.Call:
			return v == site.Call, nil
		case *ssa.Extract:
			return v.Tuple == ssa.Value(site.Call) && v.Index != site.Lease, nil
		case *ssa.BinOp:
			return false, []ssa.Value{v.X, v.Y}
		case *ssa.Phi:
			return false, v.Edges
		case *ssa.UnOp:
			return false, []ssa.Value{ssax.SoleValue(v)}
		}
		return false, nil
	})
}

// isSuccess reports whether a result says that all went well.
func isSuccess(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && (c.Value == nil && !ssax.IsBool(c.Type()) || c.Value != nil && c.Value.String() == "true")
}

// onFailure reports whether a block runs only where an acquire has failed.
func onFailure(b *ssa.BasicBlock, site *Site) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || !isOutcomeOf(cond.Cond, site) {
			continue
		}
		failed, isErr := ssax.ErrorBranch(cond.Cond)
		if !isErr {
			failed = 1 // if ok { … }, or if lost != nil { … } of Consul's channel
			cmp, ok := cond.Cond.(*ssa.BinOp)
			if ok && cmp.Op == token.EQL && (ssax.IsNilConst(cmp.X) || ssax.IsNilConst(cmp.Y)) {
				failed = 0
			}
		}
		if from.Succs[failed] == b && from.Succs[0] != from.Succs[1] {
			return true
		}
	}
	return false
}
