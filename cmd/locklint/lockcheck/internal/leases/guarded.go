package leases

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds methods that release only what has been acquired, because they look at what the acquire has left.

// isHarmless reports whether a release does nothing where nothing was acquired. A lock that the acquire would have returned
// is nil then, and has no field to look at, unless it is a struct.
func (li *Info) isHarmless(site *Site, c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	if !ok {
		return false
	}
	v := li.own(m.Obj)
	if site != nil && site.Recv == nil && !site.Always && m.Recv != nil && mayBeNil(m.Recv.Type()) {
		return v.nilSafe
	}
	return v.guarded
}

// isGuarded reports whether a call runs only where a field of the receiver, or a flag in one, has been looked at. A
// literal runs where it is called, or handed to a sync.Once.
func isGuarded(call ssa.CallInstruction, field string) bool {
	for b := call.Block(); b != nil; b = around(b) {
		from := b.Idom()
		if from == nil {
			continue
		}
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if len(b.Preds) == 1 && saysSet(cond.Cond, b == from.Succs[0]) {
			return true
		}
		k := keyexpr.Of(cond.Cond)
		if cmp, ok := cond.Cond.(*ssa.BinOp); ok {
			k = keyexpr.Of(cmp.X)
		}
		if not, ok := cond.Cond.(*ssa.UnOp); ok && not.Op == token.NOT {
			k = keyexpr.Of(not.X)
		}
		if k.Op == keyexpr.Field && (k.Text == field || ssax.IsBool(cond.Cond.Type())) {
			return true
		}
	}
	return false
}

// isNilSafe reports whether a method leaves at once where its receiver is nil.
func isNilSafe(fn *ssa.Function) bool {
	branch, ok := fn.Blocks[0].Instrs[len(fn.Blocks[0].Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cmp, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	x, y := cmp.X, cmp.Y
	if ssax.IsNilConst(x) {
		x, y = y, x
	}
	if ssax.SoleValue(x) != ssa.Value(fn.Params[0]) || !ssax.IsNilConst(y) {
		return false
	}
	null := fn.Blocks[0].Succs[0]
	if cmp.Op == token.NEQ {
		null = fn.Blocks[0].Succs[1]
	}
	_, leaves := null.Instrs[len(null.Instrs)-1].(*ssa.Return)
	return leaves
}

// around is the block above another: the one that dominates it, or for the first of a literal the one that runs that.
func around(b *ssa.BasicBlock) *ssa.BasicBlock {
	if b.Idom() != nil || b.Parent().Parent() == nil || b != b.Parent().Blocks[0] {
		return b.Idom()
	}
	if run := ssax.RunnerOf(b.Parent()); run != nil {
		return run.Block()
	}
	if do := onceOf(b.Parent()); do != nil {
		return do.Block()
	}
	return nil
}

// onceOf is the call that hands a literal to a sync.Once, nil if there is none.
func onceOf(lit *ssa.Function) *ssa.Call {
	for _, instr := range *lit.Referrers() {
		mc, ok := instr.(*ssa.MakeClosure)
		if !ok {
			continue
		}
		for _, use := range *mc.Referrers() {
			call, ok := use.(*ssa.Call)
			if !ok {
				continue
			}
			if fn := call.Call.StaticCallee(); fn != nil && ssax.CalleeName(fn) == "(*sync.Once).Do" {
				return call
			}
		}
	}
	return nil
}

// saysSet reports whether an outcome of a condition means that a flag of sync/atomic in a field is, or just was, set. A
// flag that says that all is over is not set then, and says nothing of whether there was an acquire.
func saysSet(cond ssa.Value, outcome bool) bool {
	switch c := cond.(type) {
	case *ssa.UnOp:
		return c.Op == token.NOT && saysSet(c.X, !outcome)
	case *ssa.BinOp: // the flag is a number
		call, ok := c.X.(*ssa.Call)
		value, isConst := ssax.ConstOf(c.Y)
		if !ok || !isConst {
			return false
		}
		zero := value.ExactString() == "0"
		positive := c.Op == token.EQL && !zero || (c.Op == token.NEQ || c.Op == token.GTR) && zero
		negative := c.Op == token.NEQ && !zero || c.Op == token.EQL && zero
		return (positive && outcome || negative && !outcome) && readsFlag(call)
	case *ssa.Call:
		return outcome && readsFlag(c)
	}
	return false
}

// readsFlag reports whether a call reads a flag of sync/atomic in a field, or exchanges one that is set.
func readsFlag(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	if fn == nil || len(call.Call.Args) == 0 {
		return false
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || obj.Pkg().Path() != "sync/atomic" || !inField(call.Call.Args[0]) {
		return false
	}
	switch obj.Name() {
	case "Load", "LoadInt32", "LoadInt64", "LoadUint32", "LoadUint64", "Swap", "SwapInt32", "SwapInt64", "SwapUint32",
		"SwapUint64":
		return true
	case "CompareAndSwap", "CompareAndSwapInt32", "CompareAndSwapInt64", "CompareAndSwapUint32", "CompareAndSwapUint64":
		was, ok := ssax.ConstOf(call.Call.Args[1])
		return ok && was.ExactString() != "false" && was.ExactString() != "0"
	}
	return false
}

// inField reports whether an address is that of a field, or comes from one.
func inField(addr ssa.Value) bool {
	if load, ok := addr.(*ssa.UnOp); ok && load.Op == token.MUL {
		addr = load.X
	}
	_, ok := addr.(*ssa.FieldAddr)
	return ok
}
