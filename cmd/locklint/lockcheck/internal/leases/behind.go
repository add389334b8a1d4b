package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// factOfCallee is what the function behind a call does with leases, also where an interface hides it; nil if nobody knows.
func (li *Info) factOfCallee(c *ssa.CallCommon, m ssax.Method) *Fact {
	if clients.OfPackage(m.Obj.Pkg()) != clients.None {
		return nil
	}
	if !c.IsInvoke() {
		fn := c.StaticCallee()
		if m.Bound {
			fn = li.P.Pkg.Prog.FuncValue(m.Obj) // nil for a method of an interface
		}
		if fn != nil && fn.Parent() == nil {
			return li.FactOf(fn)
		}
		return nil
	}
	if f := li.behind(m.Obj); f != nil {
		return f
	}
	f := new(Fact)
	if li.P.Pass.ImportObjectFact(m.Obj.Origin(), f) {
		return f
	}
	return nil
}

// behind is what the only implementation of a method of an interface of this package does with leases, nil for none.
func (li *Info) behind(m *types.Func) *Fact {
	impl := li.P.Implementation(m)
	if impl == nil || impl == m {
		return nil
	}
	fn := li.P.Pkg.Prog.FuncValue(impl)
	if fn == nil {
		return nil
	}
	return li.FactOf(fn)
}
