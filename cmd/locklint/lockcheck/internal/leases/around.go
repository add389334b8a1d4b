package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs have functions that run another one under a lock:
//
//	func (s *Store) WithLock(ctx context.Context, key string, fn func() error) error {
//		lock, err := s.locks.Obtain(ctx, key, time.Minute, nil)
//		…
//		defer lock.Release(ctx)
//		return fn()
//	}
//
// To its caller a call of one is a lock that is taken and released.

// around finds the parameter that a function runs under a lock, and never without it, and whose lock it is. The lock
// is gone when the function returns. The parameter is one more than its index, 0 for none.
func (li *Info) around(fn *ssa.Function) (param int, library clients.Client) {
	if fn.Parent() != nil || !takesFunction(fn) {
		return 0, clients.None
	}
	for _, flow := range li.Flows {
		if flow.Fn != fn || flow.GaveUp || !flow.Released || flow.HandedOn || len(flow.Leaks) > 0 {
			continue
		}
		for instr := range flow.Inside {
			call, ok := instr.(*ssa.Call)
			if !ok || flow.Outside[instr] {
				continue
			}
			if i := li.runs(fn, call); i > 0 && !li.runsBeside(fn, i, flow) {
				return i, flow.Site.Library
			}
		}
	}
	return li.handsAround(fn)
}

// takesFunction reports whether a function has a parameter that is one.
func takesFunction(fn *ssa.Function) bool {
	for _, p := range fn.Params {
		if _, ok := p.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}

// runs is one more than the index of the parameter that a call in a function runs, 0 for none.
func (li *Info) runs(fn *ssa.Function, call *ssa.Call) int {
	for i, p := range fn.Params {
		if ssax.SoleValue(call.Call.Value) == ssa.Value(p) {
			return i + 1
		}
	}
	return 0
}

// runsBeside reports whether a function also runs or hands on a parameter where it does not have the lock.
func (li *Info) runsBeside(fn *ssa.Function, param int, flow *Flow) bool {
	beside := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		c := call.Common()
		used := ssax.SoleValue(c.Value) == ssa.Value(fn.Params[param-1])
		for _, a := range c.Args {
			used = used || ssax.SoleValue(a) == ssa.Value(fn.Params[param-1])
		}
		beside = beside || used && (!flow.Inside[call] || flow.Outside[call])
	})
	return beside
}

// handsAround is around for a function that hands what it is given to another such function, itself or in a literal
// that does nothing but call it.
func (li *Info) handsAround(fn *ssa.Function) (param int, library clients.Client) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			given, of := li.Around(call)
			if given == nil {
				continue
			}
			for i, p := range fn.Params {
				if _, ok := p.Type().Underlying().(*types.Signature); !ok {
					continue
				}
				if lit := ssax.LiteralOf(given); ssax.SoleValue(given) == ssa.Value(p) || lit != nil && onlyRuns(lit, p) {
					return i + 1, of
				}
			}
		}
	}
	return 0, clients.None
}

// onlyRuns reports whether a literal runs a parameter of the function around it on all ways.
func onlyRuns(lit *ssa.Function, p *ssa.Parameter) bool {
	if lit.Parent() != p.Parent() || len(lit.Blocks) == 0 {
		return false
	}
	for _, instr := range lit.Blocks[0].Instrs {
		if call, ok := instr.(*ssa.Call); ok && ssax.SoleValue(call.Call.Value) == ssa.Value(p) {
			return true
		}
	}
	return false
}

// Around is the function that a call runs under a lock, which is gone when the call returns, and whose lock it is.
// Nil if it does nothing of the kind, or nobody knows.
func (li *Info) Around(call *ssa.Call) (given ssa.Value, library clients.Client) {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return nil, clients.None
	}
	f := li.factOfCallee(&call.Call, m)
	if f == nil || f.Around == 0 {
		return nil, clients.None
	}
	i := f.Around - 1
	if m.Recv != nil {
		i--
	}
	args := m.Arguments()
	if i < 0 || i >= len(args) {
		return nil, clients.None
	}
	return args[i], f.Under
}
