package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows which locks a function takes on every call, by which key and from which locker, for the checks of
// nested locks. It follows calls within the package and, by facts, into others.

// A Taken is one lock that a function takes for itself. Key and Locker speak of the function's parameters.
type Taken struct {
	Key, Locker keyexpr.Expr
	Kind        Kind
	Reentrant   bool // it may be held already, which nests on purpose

	call ssa.CallInstruction // of the function that takes it, the one by which it does; does not travel
}

// Call is the call of the function that takes the lock by which it does so, nil if that is another package's.
func (t Taken) Call() ssa.CallInstruction { return t.call }

// maxTaken bounds the locks of one function.
const maxTaken = 8

// Taken are the locks that a call takes: an acquire itself, Do, or a function that takes locks on every call.
func (li *Info) Taken(call ssa.CallInstruction) []Taken {
	c := call.Common()
	m, ok := ssax.MethodOf(c)
	if !ok {
		return nil
	}
	if clients.OfPackage(m.Obj.Pkg()) == clients.Runtime || clients.IsDoTx(m.Obj) {
		return li.acquired(call, m)
	}
	fn := c.StaticCallee()
	if fn == nil || fn.Parent() != nil {
		return nil
	}
	var args []keyexpr.Expr
	for _, a := range c.Args {
		args = append(args, keyexpr.Of(a))
	}
	var list []Taken
	for _, t := range li.FactOf(fn).Takes {
		bound := Taken{t.Key.Bind(args), t.Locker.Bind(args), t.Kind, t.Reentrant, t.call}
		if bound.Key.Known() && bound.Locker.Known() {
			list = append(list, bound)
		}
	}
	return list
}

// acquired are the locks of an acquire or of Do. Options from elsewhere may say anything.
func (li *Info) acquired(call ssa.CallInstruction, m ssax.Method) []Taken {
	t, ok := li.takingOf(m)
	if !ok {
		return nil
	}
	reentrant, known := li.P.OptionOf(t.options, "Reentrant")
	locker := keyexpr.Of(t.locker)
	if !known || !locker.Known() {
		return nil
	}
	var list []Taken
	for _, r := range t.requests {
		key := lockKey(r.key)
		if key.Known() && key.SameEachTime() && r.kind != Unknown {
			list = append(list, Taken{key, locker, r.kind, reentrant != nil, call})
		}
	}
	return list
}

// lockKey is Of for a key of the runtime, which mostly comes from BuildKey.
func lockKey(v ssa.Value) keyexpr.Expr {
	ex, ok := ssax.SoleValue(v).(*ssa.Extract)
	if !ok || ex.Index != 0 {
		return keyexpr.Of(v)
	}
	call, ok := ex.Tuple.(*ssa.Call)
	if !ok {
		return keyexpr.Of(v)
	}
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || clients.OfPackage(m.Obj.Pkg()) != clients.Runtime || m.Obj.Name() != "BuildKey" {
		return keyexpr.Of(v)
	}
	parts, ok := ssax.Variadic(call.Call.Args[0])
	if !ok {
		return keyexpr.Expr{}
	}
	k := keyexpr.Expr{Op: keyexpr.Concat}
	for _, p := range parts {
		k.Args = append(k.Args, keyexpr.At(p, 1))
	}
	return k
}

// takes computes the locks that a function takes whenever it is called, whatever its arguments are.
func (li *Info) takes(fn *ssa.Function) []Taken {
	var list []Taken
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok || !unconditional(b) {
				continue
			}
			for _, t := range li.Taken(call) {
				same := func(o Taken) bool {
					return o.Key.String() == t.Key.String() && o.Locker.String() == t.Locker.String() && o.Kind == t.Kind
				}
				t.call = call
				if t.Key.Portable() && t.Locker.Portable() && !slices.ContainsFunc(list, same) &&
					t.Key.Depth() <= keyexpr.MaxDepth {
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
// checks, or leave with an error otherwise, as wrappers do whose receiver is nil.
func unconditional(b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if failed, isErr := ssax.ErrorBranch(cond.Cond); isErr && from.Succs[failed] != b {
			continue
		}
		if from.Succs[0] != b && from.Succs[1] != b || !ssax.ReturnsNewError(from.Succs[0]) &&
			!ssax.ReturnsNewError(from.Succs[1]) {
			return false
		}
	}
	return true
}
