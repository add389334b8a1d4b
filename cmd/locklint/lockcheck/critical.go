package lockcheck

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A critical is a critical section: code that runs while a lock of this project's runtime is held: between an acquire
// and its release, in the function that is given to Do, or in a function with a //lock: directive.
type critical struct {
	fn   *ssa.Function // that contains the acquire; of a directive the function itself
	name string        // of what acquires
	pos  token.Pos     // of the acquire
	site *leaseSite    // nil for Do and directives
	call *ssa.Call     // the acquire or the call of Do; nil for directives
	body *ssa.Function // what Do calls, or the function with the directive; nil for acquires
	ctx  ssa.Value     // the context that the acquire is given; nil for directives

	inside map[ssa.Instruction]bool // calls, go and defer statements
}

// calls are the calls of the section in source order, those of go and defer statements included.
func (s *critical) calls() []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for instr := range s.inside {
		if call, ok := instr.(ssa.CallInstruction); ok {
			list = append(list, call)
		}
	}
	sortCalls(list)
	return list
}

// criticals are the critical sections of the package.
func (r *reporter) criticals() []*critical {
	if r.index.leases == nil {
		return nil
	}
	return r.index.sections()
}

// findCriticals collects the sections of the package.
func (ix *index) findCriticals() []*critical {
	var list []*critical
	for _, flow := range ix.leases.flows {
		if flow.gaveUp || flow.site.library != lockRuntime {
			continue
		}
		call := flow.site.call
		list = append(list, &critical{
			fn: flow.fn, name: flow.site.name, pos: call.Pos(), site: flow.site, call: call, ctx: contextOf(&call.Call),
			inside: flow.inside,
		})
	}
	for _, fn := range ix.funcs {
		if obj := fn.Object(); obj != nil {
			for g, info := range ix.guarded {
				if g == obj {
					list = append(list, &critical{fn: fn, name: "the wrapper " + info.wrapper, pos: info.decl.Name.Pos(), body: fn,
						inside: callsIn(fn)})
				}
			}
		}
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok {
					if body := doBody(call); body != nil {
						list = append(list, &critical{
							fn: fn, name: call.Call.StaticCallee().Name(), pos: call.Pos(), call: call, body: body,
							ctx: contextOf(&call.Call), inside: callsIn(body),
						})
					}
				}
			}
		}
	}
	return list
}

// doBody is the function literal that a call of Do or DoAll runs under the lock, nil for other calls.
func doBody(call *ssa.Call) *ssa.Function {
	m, ok := methodOf(&call.Call)
	if !ok || !isDo(m) || len(m.args) == 0 {
		return nil
	}
	switch fn := m.args[len(m.args)-1].(type) {
	case *ssa.MakeClosure:
		lit, _ := fn.Fn.(*ssa.Function)
		return lit
	case *ssa.Function:
		if fn.Parent() != nil {
			return fn
		}
	}
	return nil
}

// isDo reports whether a call is Do or DoAll of a locker.
func isDo(m method) bool {
	return m.recv != nil && namedIn(m.recv.Type(), lockRuntime) == "Locker" &&
		slices.Contains([]string{"Do", "DoAll"}, m.obj.Name())
}

// callsIn are the calls, go and defer statements of a function and of the literals that it calls or defers on the spot.
func callsIn(fn *ssa.Function) map[ssa.Instruction]bool {
	set := map[ssa.Instruction]bool{}
	var add func(fn *ssa.Function, depth int)
	add = func(fn *ssa.Function, depth int) {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				switch instr := instr.(type) {
				case *ssa.Call:
					set[instr] = true
					if lit := literal(instr.Common()); lit != nil && depth < maxDepth {
						add(lit, depth+1)
					}
				case *ssa.Go, *ssa.Defer:
					set[instr] = true
				}
			}
		}
	}
	add(fn, 0)
	return set
}

// contextOf is the context that a call is given as its first argument, nil if there is none.
func contextOf(c *ssa.CallCommon) ssa.Value {
	m, ok := methodOf(c)
	if !ok {
		return nil
	}
	args := c.Args
	if m.recv != nil && !c.IsInvoke() {
		args = args[1:]
	}
	if len(args) > 0 && isContext(args[0].Type()) {
		return args[0]
	}
	return nil
}
