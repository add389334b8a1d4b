package leases

import (
	"go/token"
	"slices"

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
	return v.guarded || li.passesGuarded(c)
}

// areHarmless is isHarmless for all releases of an object.
func (li *Info) areHarmless(releases map[ssa.CallInstruction]bool) bool {
	for call := range releases {
		if !li.isHarmless(nil, call.Common()) {
			return false
		}
	}
	return len(releases) > 0
}

// passesGuarded reports whether a call hands an object of the program's own to a function that releases it, and does so
// only where there is something to release.
func (li *Info) passesGuarded(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	if fn == nil || fn.Parent() != nil {
		return false
	}
	guarded := false
	for i, at := range li.FactOf(fn).Params {
		if at == fateReleased {
			return false
		}
		guarded = guarded || at == fateGuarded && i < len(c.Args) && li.isOwn(c.Args[i].Type())
	}
	return guarded
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
		if looksAt(cond.Cond, field) || asksMethod(cond.Cond, len(b.Preds) == 1 && b == from.Succs[0], field) {
			return true
		}
	}
	return false
}

// looksAt reports whether a condition asks a field, or a flag in one.
func looksAt(cond ssa.Value, field string) bool {
	k := keyexpr.Of(cond)
	if cmp, ok := cond.(*ssa.BinOp); ok {
		k = keyexpr.Of(cmp.X)
	}
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		k = keyexpr.Of(not.X)
	}
	return k.Op == keyexpr.Field && (k.Text == field || ssax.IsBool(cond.Type()))
}

// asksMethod reports whether a condition is what a method of the same receiver returns that asks the field, or a flag in
// one: func (l *Lock) Held() bool { return l.lock != nil }.
func asksMethod(cond ssa.Value, outcome bool, field string) bool {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		return asksMethod(not.X, !outcome, field)
	}
	call, ok := cond.(*ssa.Call)
	if !ok {
		return false
	}
	fn := calleeOf(call)
	if fn == nil || fn.Signature.Recv() == nil || !isReceiver(call.Call.Args[0], call.Parent()) {
		return false
	}
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return ok && b != fn.Recover && len(ret.Results) == 1 && ssax.AnyPart(ssax.Returned(ret, 0), 1,
			func(v ssa.Value) (bool, []ssa.Value) {
				if phi, ok := v.(*ssa.Phi); ok {
					return false, phi.Edges
				}
				return looksAt(v, field) || saysSet(v, outcome), nil
			})
	})
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
	name := atomicName(call)
	if name == "" || !inField(call.Call.Args[0]) {
		return false
	}
	switch name {
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

// isReceiver reports whether a value is the receiver of a method, in that or in a literal in it.
func isReceiver(v ssa.Value, fn *ssa.Function) bool {
	return ssax.SoleValue(v) == ssa.Value(ssax.Outermost(fn).Params[0])
}
