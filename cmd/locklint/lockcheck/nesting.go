package lockcheck

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file knows which locks a function takes on every call, by which key and from which locker, for the checks of
// nested locks. It follows calls within the package and, by facts, into others.

// A takenLock is one lock that a function takes for itself. Key and Locker speak of the function's parameters.
type takenLock struct {
	Key, Locker keyExpr

	call ssa.CallInstruction // of the function that takes it, the one by which it does; does not travel
}

// maxTaken bounds the locks of one function.
const maxTaken = 8

// taken are the locks that a call takes: an acquire itself, Do, or a function that takes locks on every call.
func (li *leaseInfo) taken(call ssa.CallInstruction) []takenLock {
	c := call.Common()
	m, ok := methodOf(c)
	if !ok {
		return nil
	}
	if clientOfPackage(m.obj.Pkg()) == lockRuntime {
		return li.acquired(call, m)
	}
	fn := c.StaticCallee()
	if fn == nil || fn.Parent() != nil {
		return nil
	}
	var args []keyExpr
	for _, a := range c.Args {
		args = append(args, keyOf(a))
	}
	var list []takenLock
	for _, t := range li.factOf(fn).Takes {
		bound := takenLock{t.Key.bind(args), t.Locker.bind(args), t.call}
		if bound.Key.known() && bound.Locker.known() {
			list = append(list, bound)
		}
	}
	return list
}

// acquired are the locks of an acquire or of Do. A reentrant one nests on purpose, and options from elsewhere may be.
func (li *leaseInfo) acquired(call ssa.CallInstruction, m method) []takenLock {
	if m.recv == nil || namedIn(m.recv.Type(), lockRuntime) != "Locker" {
		return nil
	}
	switch m.obj.Name() {
	case "Acquire", "TryAcquire", "Do", "AcquireAll", "DoAll":
	default:
		return nil
	}
	if set, known := li.p.optionOf(m.arg(1), "Reentrant"); !known || set != nil {
		return nil
	}
	keys := []ssa.Value{m.arg(0)}
	if strings.HasSuffix(m.obj.Name(), "All") {
		var ok bool
		if keys, ok = variadic(keys[0]); !ok {
			return nil
		}
	}
	locker := keyOf(m.recv)
	var list []takenLock
	for _, k := range keys {
		key := lockKey(k)
		if key.known() && locker.known() && key.sameEachTime() {
			list = append(list, takenLock{key, locker, call})
		}
	}
	return list
}

// lockKey is keyOf for a key of the runtime, which mostly comes from BuildKey.
func lockKey(v ssa.Value) keyExpr {
	ex, ok := soleValue(v).(*ssa.Extract)
	if !ok || ex.Index != 0 {
		return keyOf(v)
	}
	call, ok := ex.Tuple.(*ssa.Call)
	if !ok {
		return keyOf(v)
	}
	m, ok := methodOf(&call.Call)
	if !ok || clientOfPackage(m.obj.Pkg()) != lockRuntime || m.obj.Name() != "BuildKey" {
		return keyOf(v)
	}
	parts, ok := variadic(call.Call.Args[0])
	if !ok {
		return keyExpr{}
	}
	k := keyExpr{Op: keyConcat}
	for _, p := range parts {
		k.Args = append(k.Args, keyAt(p, 1))
	}
	return k
}

// sameEachTime reports whether two values of the expression are equal: what a function without arguments returns, as
// one that makes up an id does, is not.
func (k keyExpr) sameEachTime() bool {
	return !k.any(func(k keyExpr) bool {
		return k.Op == keyCall && !k.any(func(k keyExpr) bool {
			return k.Op == keyParam || k.Op == keyLocal || k.Op == keyField || k.Op == keyGlobal ||
				k.Op == keyLit && k.Text != ""
		})
	})
}

// takes computes the locks that a function takes whenever it is called, whatever its arguments are.
func (li *leaseInfo) takes(fn *ssa.Function) []takenLock {
	var list []takenLock
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok || !unconditional(b) {
				continue
			}
			for _, t := range li.taken(call) {
				same := func(o takenLock) bool {
					return o.Key.String() == t.Key.String() && o.Locker.String() == t.Locker.String()
				}
				t.call = call
				if t.Key.portable() && t.Locker.portable() && !slices.ContainsFunc(list, same) && t.Key.depth() <= maxKeyDepth {
					list = append(list, t)
				}
			}
		}
	}
	if len(list) > maxTaken {
		return nil
	}
	return list
}

// unconditional reports whether a block runs in every call that does not fail before: all branches on the way are error
// checks.
func unconditional(b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if failed, isErr := errorBranch(cond.Cond); !isErr || from.Succs[failed] == b {
			return false
		}
	}
	return true
}

// keyText is a key as messages name it: its text if it is constant, else its shape with holes.
func (k keyExpr) keyText() string {
	var b strings.Builder
	k.writeText(&b)
	return strconv.Quote(b.String())
}

func (k keyExpr) writeText(b *strings.Builder) {
	switch {
	case k.Op == keyLit:
		b.WriteString(k.Text)
	case k.Op == keyCall && strings.HasSuffix(k.Text, ".KeyText") && len(k.Args) == 1, k.Op == keyConcat:
		for _, a := range k.Args {
			a.writeText(b)
		}
	default:
		b.WriteString("{…}")
	}
}
