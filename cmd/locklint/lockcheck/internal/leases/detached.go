package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// PassesContext reports whether a release hands its context on to the library.
func (li *Info) PassesContext(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return !ok || !li.own(m.Obj).detached && !li.allDetach(m.Obj)
}

// allDetach reports whether something is seen behind a method of an interface, and all of it releases without the context
// that it is given.
func (li *Info) allDetach(m *types.Func) bool {
	if !program.IsInterface(m) {
		return false
	}
	behind := li.P.Candidates(m)
	return len(behind) > 0 && !slices.ContainsFunc(behind, func(impl *types.Func) bool { return !li.detachesItself(impl) })
}

// detachesItself reports whether a method releases without the context that it is given. Of one that is not known to
// release, the context itself says so.
func (li *Info) detachesItself(impl *types.Func) bool {
	v := li.verbs[impl]
	if f := new(Fact); impl.Pkg() != li.P.Pass.Pkg && li.P.Pass.ImportObjectFact(impl, f) {
		v.verb, v.detached = f.Verb, f.Detached
	}
	if v.verb == handles.VerbRelease {
		return v.detached
	}
	fn := li.P.Pkg.Prog.FuncValue(impl)
	return fn != nil && len(fn.Blocks) > 0 && dropsContext(fn)
}

// dropsContext reports whether a method uses the context that it is given for nothing but another one that does not end with
// it.
func dropsContext(fn *ssa.Function) bool {
	if len(fn.Params) < 2 || !ssax.IsContext(fn.Params[1].Type()) {
		return true
	}
	return !slices.ContainsFunc(*fn.Params[1].Referrers(), func(use ssa.Instruction) bool {
		if _, ok := use.(*ssa.DebugRef); ok {
			return false
		}
		call, ok := use.(*ssa.Call)
		return !ok || call.Call.StaticCallee() == nil || ssax.CalleeName(call.Call.StaticCallee()) != "context.WithoutCancel"
	})
}
