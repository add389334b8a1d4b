package leases

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some flags are those of sync/atomic:
//
//	var released atomic.Bool
//	release := func() {
//		if released.CompareAndSwap(false, true) {
//			mutex.Unlock()
//		}
//	}
//
// This file follows them where only the function itself sets them, and the literals that it runs. A number is a flag that is
// never anything but 0 and 1.

// An atomicFlag is a variable, or a field of a struct that is one.
type atomicFlag struct {
	ssa.Value // the first of its addresses
}

// atomicFlags are those of a function and of the literals in it.
type atomicFlags struct {
	of     map[ssa.Instruction]*atomicFlag // by what reads or sets them
	byRoot map[*ssa.Alloc][]*atomicFlag
}

// atomicsIn finds those of a function.
func (li *Info) atomicsIn(fn *ssa.Function) *atomicFlags {
	fn = ssax.Outermost(fn)
	if found, ok := li.atomics[fn]; ok {
		return found
	}
	found, byKey := &atomicFlags{map[ssa.Instruction]*atomicFlag{}, map[*ssa.Alloc][]*atomicFlag{}}, map[string]bool{}
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		call, ok := instr.(*ssa.Call)
		if !ok || atomicOp(call) == "" {
			return
		}
		r, ok := routeTo(call.Call.Args[0], 0)
		made, isVar := r.root.(*ssa.Alloc)
		if !ok || !isVar || byKey[r.key()] {
			return
		}
		byKey[r.key()] = true
		uses := flagUses{}
		if !uses.gather(made, r.steps, true) {
			return
		}
		flag := &atomicFlag{call.Call.Args[0]}
		found.byRoot[made] = append(found.byRoot[made], flag)
		for _, use := range uses.found {
			found.of[use] = flag
		}
	})
	li.atomics[fn] = found
	return found
}

// flagUses gathers what reads and sets a flag.
type flagUses struct{ found []ssa.Instruction }

// gather looks at the uses of an address that leads to the flag. It is false where it may be set out of sight. here is
// true in the function itself, and in literals that it runs.
func (g *flagUses) gather(addr ssa.Value, steps []hop, here bool) bool {
	return !slices.ContainsFunc(*addr.Referrers(), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.DebugRef:
			return false
		case *ssa.Call:
			g.found = append(g.found, use)
			op := atomicOp(use)
			return op == "" || len(steps) > 0 || !here && op != "Load" || !isFlag(addr, use.Call.Args[1:])
		case *ssa.FieldAddr:
			return len(steps) == 0 || use.Field == steps[0].index && !g.gather(use, steps[1:], here)
		case *ssa.Store:
			if use.Addr != addr {
				return !g.gatherPointer(use.Addr, steps, here)
			}
			g.found = append(g.found, use)
			return !here || len(steps) > 0 && !isUnset(use.Val, steps[0].index) || len(steps) == 0 && !isFlag(addr, []ssa.Value{use.Val})
		case *ssa.MakeClosure:
			return !captures(use, addr, func(captured ssa.Value) bool {
				return g.gather(captured, steps, here && runsHere(use))
			})
		}
		return true
	})
}

// gatherPointer is gather for a variable that nothing but an address goes into.
func (g *flagUses) gatherPointer(cell ssa.Value, steps []hop, here bool) bool {
	if made, ok := cell.(*ssa.Alloc); ok {
		if _, ok := ssax.OnlyStore(made); !ok {
			return false
		}
	} else if _, ok := cell.(*ssa.FreeVar); !ok {
		return false
	}
	return !slices.ContainsFunc(*cell.Referrers(), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.UnOp:
			return !g.gather(use, steps, here)
		case *ssa.MakeClosure:
			return !captures(use, cell, func(captured ssa.Value) bool {
				return g.gatherPointer(captured, steps, here && runsHere(use))
			})
		}
		return false
	})
}

// captures reports whether something is so for all that a variable is in a literal.
func captures(mc *ssa.MakeClosure, cell ssa.Value, is func(captured ssa.Value) bool) bool {
	lit, ok := mc.Fn.(*ssa.Function)
	if !ok {
		return false
	}
	for i, b := range mc.Bindings {
		if b == cell && !is(lit.FreeVars[i]) {
			return false
		}
	}
	return true
}

// isUnset reports whether a struct has a field that nobody has set: that of a literal which does not name it.
func isUnset(v ssa.Value, field int) bool {
	if isZero(v) {
		return true
	}
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	made, ok := load.X.(*ssa.Alloc)
	return ok && !slices.ContainsFunc(*made.Referrers(), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.FieldAddr:
			return use.Field == field
		case *ssa.Store:
			return use.Addr != made || !isZero(use.Val)
		case *ssa.UnOp, *ssa.DebugRef:
			return false
		}
		return true
	})
}

// isFlag reports whether values are those of a flag, if they go to an address.
func isFlag(addr ssa.Value, values []ssa.Value) bool {
	return !slices.ContainsFunc(values, func(v ssa.Value) bool {
		return v == addr || !ssax.IsBool(v.Type()) && !isZero(v) && !isOne(v)
	})
}

func isOne(v ssa.Value) bool {
	n, ok := constNumber(v)
	return ok && n == 1
}

// atomicTypes are those that a flag may have.
var atomicTypes = []string{"Bool", "Int32", "Int64", "Uint32", "Uint64"}

// atomicOps are what is done to flags.
var atomicOps = []string{"Load", "Store", "Swap", "CompareAndSwap", "Add"}

// atomicOp is which of them a call does, empty for other calls.
func atomicOp(call *ssa.Call) string {
	name := atomicName(call)
	for _, op := range atomicOps {
		of, is := strings.CutPrefix(name, op)
		if is && of == "" { // a method
			of = strings.TrimPrefix(ssax.FullTypeName(ssax.Elem(call.Call.Args[0].Type())), "sync/atomic.")
		}
		if is && slices.Contains(atomicTypes, of) {
			return op
		}
	}
	return ""
}

// atomicName is the name of the function of sync/atomic that a call runs, "" for others.
func atomicName(call *ssa.Call) string {
	fn := call.Call.StaticCallee()
	if fn == nil || len(call.Call.Args) == 0 {
		return ""
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || obj.Pkg().Path() != "sync/atomic" {
		return ""
	}
	return obj.Name()
}

// readAtomic is what a call finds in a flag, or whether it has found there what it wants.
func (f *follower) readAtomic(call *ssa.Call, s *pathState) abstract {
	flag := f.li.atomicsIn(call.Parent()).of[call]
	if flag == nil {
		return unknown
	}
	now := s.known[flag]
	switch atomicOp(call) {
	case "Load", "Swap":
		return now
	case "CompareAndSwap":
		switch s.asFlag(call.Call.Args[1]) {
		case isTrue:
			return now
		case isFalse:
			return now.negated()
		}
	case "Add":
		return s.stepped(now, call.Call.Args[1])
	}
	return unknown
}

// setAtomic runs an instruction that sets a flag.
func (f *follower) setAtomic(instr ssa.Instruction, s *pathState) {
	flag := f.li.atomicsIn(instr.Parent()).of[instr]
	if flag == nil {
		return
	}
	switch instr := instr.(type) {
	case *ssa.Store:
		s.set(flag, s.asFlag(instr.Val))
	case *ssa.Call:
		switch args := instr.Call.Args; atomicOp(instr) {
		case "Store", "Swap":
			s.set(flag, s.asFlag(args[1]))
		case "CompareAndSwap":
			s.set(flag, s.swapped(s.known[flag], s.asFlag(args[1]), s.asFlag(args[2])))
		case "Add":
			s.set(flag, s.stepped(s.known[flag], args[1]))
		}
	}
}

// swapped is what a flag is that was set to another where it was an old one.
func (s *pathState) swapped(now, old, to abstract) abstract {
	switch {
	case old != isTrue && old != isFalse:
		return unknown
	case old == to:
		return now
	case to == old.negated():
		return to // it has been the other one, or is so now
	}
	return unknown
}

// stepped is what a flag is that a number is added to. Of more than 1 nothing is known.
func (s *pathState) stepped(now abstract, by ssa.Value) abstract {
	if now == isFalse && isOne(by) {
		return isTrue
	}
	return unknown
}

// asFlag is what is known of a value that goes into a flag.
func (s *pathState) asFlag(v ssa.Value) abstract {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.Int {
		return truth(!isZero(v))
	}
	if ssax.IsBool(v.Type()) {
		return s.of(v)
	}
	return isFalse // a struct of zero values, see gather
}

// number is what a flag holds that is a number.
func (a abstract) number() (n int64, ok bool) {
	switch a {
	case isFalse:
		return 0, true
	case isTrue:
		return 1, true
	}
	return 0, false
}

// isClaimed reports whether an edge is that of who comes too late to release: a flag of this function that others may set,
// too, says that one of them has done so.
func (f *follower) isClaimed(from, to *ssa.BasicBlock) bool {
	branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	call := claimOf(branch.Cond)
	if call == nil || f.li.atomicsIn(f.fn).of[call] != nil {
		return false
	}
	r, known := routeTo(call.Call.Args[0], 0)
	if _, isVar := r.root.(*ssa.Alloc); !known || !isVar {
		return false // it may guard something else than this lock
	}
	other := from.Succs[0]
	if other == to {
		other = from.Succs[1]
	}
	return f.releases(map[*ssa.BasicBlock]bool{other: true}) && !f.releases(map[*ssa.BasicBlock]bool{to: true})
}

// claimOf is the call that a condition is the outcome of, if it sets a flag for the first who comes. Nil for others.
func claimOf(cond ssa.Value) *ssa.Call {
	switch cond := cond.(type) {
	case *ssa.UnOp:
		return claimOf(cond.X)
	case *ssa.BinOp:
		return claimOf(cond.X)
	case *ssa.Call:
		switch atomicOp(cond) {
		case "Swap", "CompareAndSwap", "Add":
			return cond
		}
	}
	return nil
}
