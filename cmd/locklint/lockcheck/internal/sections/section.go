// Package sections finds the critical sections under locks of this project, and tells the work in them from what only
// logs, computes or handles the lock.
package sections

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A Section is a critical section: code that runs while a lock of this project's runtime is held: between an acquire
// and its release, in the function that is given to Do, or in a function with a //lock: directive.
type Section struct {
	Fn   *ssa.Function // that contains the acquire; of a directive the function itself
	Name string        // of what acquires
	Pos  token.Pos     // of the acquire
	Site *leases.Site  // nil for Do and directives
	Call *ssa.Call     // the acquire or the call of Do; nil for directives
	Body *ssa.Function // what Do calls, or the function with the directive; nil for acquires
	// Kinds are how the locks of the section are held, nil if somebody else decides on that.
	Kinds []leases.Kind
	Tx    bool      // the section runs in a transaction that is begun and ended by who takes the lock
	Ctx   ssa.Value // the context that the acquire is given; nil for directives

	Inside map[ssa.Instruction]bool // calls, go and defer statements
}

// Calls are the calls of the section in source order, those of go and defer statements included.
func (s *Section) Calls() []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for instr := range s.Inside {
		if call, ok := instr.(ssa.CallInstruction); ok {
			list = append(list, call)
		}
	}
	ssax.SortCalls(list)
	return list
}

// FindCriticals collects the sections of the package.
func FindCriticals(li *leases.Info, d *guards.Directives) []*Section {
	var list []*Section
	for _, flow := range li.Flows {
		if flow.GaveUp || flow.Site.Library != clients.Runtime {
			continue
		}
		call := flow.Site.Call
		list = append(list, &Section{
			Fn: flow.Fn, Name: flow.Site.Name, Pos: call.Pos(), Site: flow.Site, Call: call, Ctx: ssax.ContextOf(&call.Call),
			Inside: flow.Inside, Kinds: li.Kinds(call),
		})
	}
	for _, fn := range li.P.Funcs {
		if obj := fn.Object(); obj != nil {
			for g, info := range d.Guarded {
				if g == obj {
					list = append(list, &Section{Fn: fn, Name: "the wrapper " + info.Wrapper, Pos: info.Decl.Name.Pos(), Body: fn,
						Tx: info.Tx, Inside: callsIn(fn), Kinds: kindsOf(info.Keys)})
				}
			}
		}
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok {
					if body := bodyOfDo(call); body != nil {
						list = append(list, &Section{
							Fn: fn, Name: nameOfDo(call), Pos: call.Pos(), Call: call, Body: body, Tx: isDoTx(call),
							Ctx: ssax.ContextOf(&call.Call), Inside: callsIn(body), Kinds: li.Kinds(call),
						})
					}
				}
			}
		}
	}
	return list
}

// kindsOf are those of a directive's keys.
func kindsOf(keys []*directive.Key) []leases.Kind {
	var kinds []leases.Kind
	for _, k := range keys {
		switch {
		case k.Permits != nil:
			kinds = append(kinds, leases.Permits)
		case k.Reads():
			kinds = append(kinds, leases.Reads)
		default:
			kinds = append(kinds, leases.Writes)
		}
	}
	return kinds
}

// All reports whether all locks of the section are held in one way.
func (s *Section) All(kind leases.Kind) bool {
	return len(s.Kinds) > 0 && !slices.ContainsFunc(s.Kinds, func(k leases.Kind) bool { return k != kind })
}

// bodyOfDo is the function literal that a call of Do and its likes runs under the lock, nil for other calls.
func bodyOfDo(call *ssa.Call) *ssa.Function {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || !isDo(m) || len(m.Args) == 0 {
		return nil
	}
	switch fn := m.Args[len(m.Args)-1].(type) {
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

// isDo reports whether a call is Do, DoAll or DoEach of a locker, or one of their likes with a transaction.
func isDo(m ssax.Method) bool {
	return clients.IsDoTx(m.Obj) || m.Recv != nil && clients.Named(m.Recv.Type(), clients.Runtime) == "Locker" &&
		slices.Contains([]string{"Do", "DoAll", "DoEach"}, m.Obj.Name())
}

// nameOfDo is the name of such a method.
func nameOfDo(call *ssa.Call) string {
	m, _ := ssax.MethodOf(&call.Call)
	return m.Obj.Name()
}

func isDoTx(call *ssa.Call) bool {
	m, ok := ssax.MethodOf(&call.Call)
	return ok && clients.IsDoTx(m.Obj)
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
					if lit := ssax.Literal(instr.Common()); lit != nil && depth < ssax.MaxDepth {
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

// Nestings visits the locks that are taken while another is held: inner is taken by a call in the section of outer.
func Nestings(sections []*Section, leases *leases.Info, visit func(s *Section, outer, inner leases.Taken,
	call ssa.CallInstruction)) {
	for _, s := range sections {
		if s.Call == nil {
			continue // the section of a directive is that of its wrapper, too
		}
		held := leases.Taken(s.Call)
		if len(held) == 0 {
			continue
		}
		for _, call := range s.Calls() {
			if _, ok := call.(*ssa.Call); !ok || call == ssa.CallInstruction(s.Call) {
				continue
			}
			for _, inner := range leases.Taken(call) {
				for _, outer := range held {
					visit(s, outer, inner, call)
				}
			}
		}
	}
}
