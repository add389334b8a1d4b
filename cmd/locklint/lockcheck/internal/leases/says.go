package leases

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Objects of the program's own remember whether they are locked:
//
//	func (m *M) Lock(ctx context.Context) error {
//		if err := m.mu.LockContext(ctx); err != nil {
//			return err
//		}
//		m.held = true
//		return nil
//	}
//
//	func (m *M) Held() bool { return m.held }
//
// This file finds out what is said by such a field, or by a method that returns it.

// A says is what it means for the lock of an object that a flag is true.
type says uint8

const (
	saysNothing   says = iota
	saysHeld           // there is a lock
	saysGone           // there is none
	saysSomething      // one or the other
)

// negated is what the opposite of a flag says.
func (w says) negated() says {
	switch w {
	case saysHeld:
		return saysGone
	case saysGone:
		return saysHeld
	}
	return w
}

// and is what is said by a value that is one or the other.
func (w says) and(other says) says {
	switch {
	case w == saysNothing || w == other:
		return other
	case other == saysNothing:
		return w
	}
	return saysSomething
}

// abstract is what a path knows of a value that says so.
func (w says) abstract() abstract {
	switch w {
	case saysHeld:
		return stillHeld
	case saysGone:
		return notHeld
	}
	return unknown
}

// findFlags finds the fields of this package that the methods of their structs set, and what they have set them to when
// they have locked.
func (li *Info) findFlags() {
	locked := map[*types.Var]bool{} // set by a method that locks
	for _, fn := range li.P.Funcs {
		method := methodOf(ssax.Outermost(fn))
		if method == nil {
			continue
		}
		verb := li.verbs[method].verb
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				addr, to := fieldSet(instr)
				if addr == nil || !isReceiver(baseOf(addr), fn) {
					continue
				}
				switch field := fieldVar(addr); {
				case field == nil || verb == handles.VerbOther && !ssax.IsBool(field.Type()) && !isAtomic(field.Type()):
				case verb == handles.VerbLock && fn.Parent() == nil:
					if !locked[field] {
						locked[field], li.flags[field] = true, saysNothing
					}
					li.flags[field] = li.flags[field].and(setTo(to))
				case !locked[field]:
					li.flags[field] = saysSomething
				}
			}
		}
	}
}

// fieldSet is the field that an instruction sets, also one of sync/atomic, and what to.
func fieldSet(instr ssa.Instruction) (addr *ssa.FieldAddr, to ssa.Value) {
	switch instr := instr.(type) {
	case *ssa.Store:
		addr, _ = instr.Addr.(*ssa.FieldAddr)
		return addr, instr.Val
	case *ssa.Call:
		if name := atomicName(instr); !strings.HasPrefix(name, "Load") && name != "" {
			addr, _ = instr.Call.Args[0].(*ssa.FieldAddr)
			return addr, instr.Call.Args[len(instr.Call.Args)-1]
		}
	}
	return nil, nil
}

// isAtomic reports whether a type is one of sync/atomic.
func isAtomic(t types.Type) bool {
	return strings.HasPrefix(ssax.FullTypeName(t), "sync/atomic.")
}

// setTo is what a field says that has been set to a value where an object was locked.
func setTo(v ssa.Value) says {
	if value, ok := ssax.ConstOf(v); ok {
		switch value.ExactString() {
		case "true", "1":
			return saysHeld
		case "false", "0":
			return saysGone
		}
		return saysSomething
	}
	switch v := v.(type) {
	case *ssa.Const: // nil
		return saysGone
	case *ssa.BinOp: // err == nil
		if v.Op == token.EQL && ssax.IsError(v.X.Type()) && ssax.IsNilConst(v.Y) {
			return saysHeld
		}
		return saysSomething
	}
	if mayBeNil(v.Type()) && !ssax.IsError(v.Type()) {
		return saysHeld
	}
	return saysSomething
}

// methodSays is what a method says of the lock of its receiver that returns a flag.
func (li *Info) methodSays(fn *ssa.Function) says {
	results := fn.Signature.Results()
	if methodOf(fn) == nil || results.Len() != 1 || !ssax.IsBool(results.At(0).Type()) || !li.isOwn(fn.Params[0].Type()) ||
		li.verbs[methodOf(fn)].verb != handles.VerbOther {
		return saysNothing
	}
	isObject := func(v ssa.Value) bool { return isReceiver(v, fn) }
	w := saysNothing
	for _, b := range fn.Blocks {
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && b != fn.Recover {
			w = w.and(li.valueSays(ssax.Returned(ret, 0), isObject, 0))
		}
	}
	if w == saysNothing && li.asksFlag(fn) {
		return saysSomething
	}
	return w
}

// asksFlag reports whether a method does no more than to read what there is, a field among that which others set.
func (li *Info) asksFlag(fn *ssa.Function) bool {
	asks := false
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			switch instr := instr.(type) {
			case *ssa.Store:
				if _, own := instr.Addr.(*ssa.Alloc); !own {
					return false
				}
			case *ssa.Call:
				if !onlyAsks(instr) {
					return false
				}
			case *ssa.FieldAddr:
				asks = asks || isReceiver(baseOf(instr), fn) && li.flags[fieldVar(instr)] != saysNothing
			case *ssa.Go, *ssa.Send, *ssa.MapUpdate:
				return false
			}
		}
	}
	return asks
}

// onlyAsks reports whether a call asks for the time, or for what is in a variable, or locks one in memory.
func onlyAsks(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Pkg == nil {
		return isLen(call)
	}
	switch fn.Pkg.Pkg.Path() {
	case "time", "sync":
		return true
	}
	return strings.HasPrefix(atomicName(call), "Load")
}

// valueSays is what a flag says of the lock of an object.
func (li *Info) valueSays(v ssa.Value, isObject func(ssa.Value) bool, depth int) says {
	if depth > ssax.MaxDepth {
		return saysNothing
	}
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.NOT {
			return li.valueSays(v.X, isObject, depth+1).negated()
		}
		return li.fieldSays(v, isObject)
	case *ssa.BinOp:
		for _, side := range [2][2]ssa.Value{{v.X, v.Y}, {v.Y, v.X}} {
			w := li.valueSays(side[0], isObject, depth+1)
			if call, ok := side[0].(*ssa.Call); ok && w != saysNothing && !ssax.IsBool(call.Type()) {
				return saysSomething
			}
			switch {
			case w == saysNothing:
			case v.Op == token.NEQ && ssax.IsNilConst(side[1]):
				return w
			case v.Op == token.EQL && ssax.IsNilConst(side[1]):
				return w.negated()
			default:
				return saysSomething
			}
		}
	case *ssa.Phi:
		w := saysNothing
		for _, e := range v.Edges {
			w = w.and(li.valueSays(e, isObject, depth+1))
		}
		return w
	case *ssa.Call:
		return li.callSays(v, isObject)
	}
	return saysNothing
}

// fieldSays is what a field of an object says that is read.
func (li *Info) fieldSays(load *ssa.UnOp, isObject func(ssa.Value) bool) says {
	addr, ok := load.X.(*ssa.FieldAddr)
	if !ok || load.Op != token.MUL || !isObject(baseOf(addr)) {
		return saysNothing
	}
	return li.flagSays(addr)
}

// flagSays is what a field says. Who sets one of another package can not be seen.
func (li *Info) flagSays(addr *ssa.FieldAddr) says {
	field := fieldVar(addr)
	if field != nil && field.Pkg() != li.P.Pass.Pkg && ssax.IsBool(field.Type()) {
		return saysSomething
	}
	return li.flags[field]
}

// callSays is what is said by a method of an object, or by sync/atomic of a field in it.
func (li *Info) callSays(call *ssa.Call, isObject func(ssa.Value) bool) says {
	if call.Call.IsInvoke() && isObject(call.Call.Value) {
		return li.hiddenSays(call)
	}
	fn := call.Call.StaticCallee()
	if fn == nil || len(call.Call.Args) == 0 {
		return saysNothing
	}
	if name := atomicName(call); name != "" {
		addr, ok := call.Call.Args[0].(*ssa.FieldAddr)
		if !ok || !isObject(baseOf(addr)) {
			return saysNothing
		}
		w := li.flagSays(addr)
		if strings.HasPrefix(name, "CompareAndSwap") {
			if was, ok := ssax.ConstOf(call.Call.Args[1]); !ok || setTo(call.Call.Args[1]) == saysSomething {
				return saysSomething
			} else if value := was.ExactString(); value == "false" || value == "0" {
				return w.negated()
			}
		}
		return w
	}
	if fn.Pkg != nil && fn.Pkg.Pkg.Path() == "time" { // asks for how long
		for _, a := range call.Call.Args {
			if load, ok := a.(*ssa.UnOp); ok && li.fieldSays(load, isObject) != saysNothing {
				return saysSomething
			}
		}
		return saysNothing
	}
	if fn.Parent() != nil || fn.Signature.Recv() == nil || !isObject(call.Call.Args[0]) {
		return saysNothing
	}
	return li.FactOf(fn).Says
}

// hiddenSays is callSays for a method of an interface. One that nobody knows may say anything.
func (li *Info) hiddenSays(call *ssa.Call) says {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || !ssax.IsBool(call.Type()) || len(call.Call.Args) > 0 || li.own(m.Obj).verb != handles.VerbOther {
		return saysNothing
	}
	if f := li.factOfCallee(&call.Call, m); f != nil {
		return f.Says
	}
	return saysSomething
}

// objectSays is what a value says of the lock that is followed, if that is an object of the program's own.
func (f *follower) objectSays(v ssa.Value, s *pathState) says {
	if f.site == nil || f.site.Recv == nil {
		return saysNothing
	}
	return f.li.valueSays(v, func(v ssa.Value) bool { return s.of(v) == theLease && f.li.isOwn(v.Type()) }, 0)
}

// heard narrows a state by an outcome of a condition that asks the object itself. Where nobody knows what the answer
// means, nothing more is said of the lock on this path.
func (f *follower) heard(s *pathState, cond ssa.Value, outcome bool) {
	switch f.objectSays(cond, s) {
	case saysHeld:
		f.told(s, cond, outcome)
	case saysGone:
		f.told(s, cond, !outcome)
	case saysSomething:
		if s.Lease == held || s.Lease == unchecked || s.verdict == refused {
			s.Lease, s.over = escaped, true
		}
	}
}
