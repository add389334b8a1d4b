package answers

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Skippable reports whether a release stands in a branch that rejoins the rest of its function, as in
//
//	if status >= 400 {
//		rdb.Del(ctx, key)
//	}
//
// A branch that depends on the acquire itself is fine, and so are early returns before the release, also from the round of
// a loop: forgetting it there does not make it anything but a release.
func Skippable(a *rediscmd.Command, release ssa.CallInstruction) bool {
	stop := a.Call.Block()
	for b := release.Block(); b != stop && b.Idom() != nil; b = b.Idom() {
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || b.Preds[0] != b.Idom() {
			continue
		}
		if ssax.LoopOf(b.Idom())[release.Block()] {
			continue // a loop over what is to be released
		}
		other := b.Idom().Succs[0]
		if other == b {
			other = b.Idom().Succs[1]
		}
		if ssax.Rejoin(release.Block(), other, stop) && !DependsOn(cond.Cond, a) && !nextOnError(cond, other, stop) {
			return true
		}
	}
	return false
}

// nextOnError reports whether a branch begins the next round of the loop that an acquire stands in where there is an
// error, as if err != nil { continue } does. That is an early return from the round.
func nextOnError(cond *ssa.If, other, acquire *ssa.BasicBlock) bool {
	if failed, ok := ssax.ErrorBranch(cond.Cond); !ok || cond.Block().Succs[failed] != other {
		return false
	}
	isCall := func(instr ssa.Instruction) bool { _, ok := instr.(ssa.CallInstruction); return ok }
	seen := map[*ssa.BasicBlock]bool{} // so that it ends also where the program does not
	for b := other; !seen[b] && (b == other || !slices.ContainsFunc(b.Instrs, isCall)); b = b.Succs[0] {
		if seen[b] = true; b.Dominates(acquire) || len(b.Succs) != 1 {
			return b.Dominates(acquire)
		}
	}
	return false
}

// DependsOn reports whether a condition is about an acquire: its outcome, its error, or a flag that is set to a
// constant on some path, which mostly says whether the lock was taken.
func DependsOn(v ssa.Value, a *rediscmd.Command) bool {
	d := dependence{a, map[ssa.Value]int{}}
	return d.on(v, 0)
}

// A dependence looks for an acquire among what values are made of. It keeps how far from the start it has met each: a
// long function is full of values that many others are made of, and to follow each way to them would take for ever.
type dependence struct {
	acquire *rediscmd.Command
	seen    map[ssa.Value]int
}

func (d *dependence) on(v ssa.Value, depth int) bool {
	if v == nil || depth > 2*keyexpr.MaxDepth {
		return false
	}
	if at, seen := d.seen[v]; seen && at <= depth {
		return false // has been looked at, or is just being
	}
	d.seen[v] = depth
	on := func(v ssa.Value) bool { return d.on(v, depth+1) }
	switch v := v.(type) {
	case *ssa.Call:
		if ssa.CallInstruction(v) == d.acquire.Call {
			return true
		}
		if v.Call.IsInvoke() && on(v.Call.Value) || slices.ContainsFunc(v.Call.Args, on) {
			return true
		}
	case *ssa.Phi:
		for _, e := range v.Edges {
			if _, isConst := e.(*ssa.Const); isConst && ssax.IsBool(v.Type()) || on(e) {
				return true
			}
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return on(v.X)
		}
		return d.onVariable(ssax.CellOf(v.X), depth)
	case *ssa.FieldAddr:
		if cell, ok := ssax.CellOf(v.X).(*ssa.Alloc); ok {
			return d.onVariable(cell, depth)
		}
		return on(v.X)
	case ssa.Instruction:
		for _, op := range v.Operands(nil) {
			if *op != nil && on(*op) {
				return true
			}
		}
	}
	return false
}

// onVariable is on for what a captured variable may hold.
func (d *dependence) onVariable(addr ssa.Value, depth int) bool {
	cell, ok := addr.(*ssa.Alloc)
	if !ok {
		return d.on(addr, depth+1)
	}
	found := false
	ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			if instr.Addr == addr {
				_, isConst := instr.Val.(*ssa.Const)
				found = found || isConst && ssax.IsBool(instr.Val.Type()) || d.on(instr.Val, depth+1)
			}
		case *ssa.MakeInterface:
			found = found || d.decoded(instr, depth)
		}
		return true
	})
	return found
}

// decoded reports whether a variable's address is given to a call that fills it from the answer, as json.Unmarshal and
// Scan do.
func (d *dependence) decoded(target *ssa.MakeInterface, depth int) bool {
	for _, instr := range *target.Referrers() {
		call, ok := instr.(*ssa.Call)
		if !ok {
			continue
		}
		for _, a := range append([]ssa.Value{call.Call.Value}, call.Call.Args...) {
			if a != ssa.Value(target) && d.on(a, depth+1) {
				return true
			}
		}
	}
	return false
}
