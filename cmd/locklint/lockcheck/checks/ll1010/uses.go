package ll1010

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fences"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/transactions"
)

// A fenceUse answers how functions of the package deal with fences. Every answer is computed once.
type fenceUse struct {
	ix     *index.Index
	guards map[*ssa.Function]bool
	reads  map[*ssa.Function]bool
}

func newFenceUse(ix *index.Index) *fenceUse {
	return &fenceUse{ix, map[*ssa.Function]bool{}, map[*ssa.Function]bool{}}
}

// guarding reports whether a function guards a transaction, itself or in what it calls: that covers all that it writes.
func (u *fenceUse) guarding(fn *ssa.Function) bool {
	if known, ok := u.guards[fn]; ok {
		return known
	}
	u.guards[fn] = false // recursion by itself guards nothing
	found := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) { found = found || u.isGuard(call.Common()) })
	u.guards[fn] = found
	return found
}

// isGuard reports whether a call is a guard: this project's, or anything that is given a fence, or the lease, and a
// transaction.
func (u *fenceUse) isGuard(c *ssa.CallCommon) bool {
	if fences.GuardsTx(c) {
		return true
	}
	fenced, tx := false, false
	for _, a := range c.Args {
		t := a.Type()
		fenced = fenced || clients.Named(t, clients.Runtime) == "Fence" || handles.IsLease(t)
		tx = tx || transactions.IsTx(t)
	}
	fn := c.StaticCallee()
	return fenced && tx || fn != nil && fn.Pkg == u.ix.Pkg && u.guarding(fn)
}

// readsContext reports whether what is called may take the fence from its context. Who lives outside of the package
// may, but not the standard library and the clients.
func (u *fenceUse) readsContext(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	if !ok || c.IsInvoke() {
		return true
	}
	if fn := c.StaticCallee(); fn != nil && fn.Pkg == u.ix.Pkg && len(fn.Blocks) > 0 {
		if known, ok := u.reads[fn]; ok {
			return known
		}
		u.reads[fn] = false
		found := false
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			found = found || takesAnyContext(call.Common()) && u.readsContext(call.Common())
		})
		u.reads[fn] = found
		return found
	}
	if m.Obj.Pkg() == nil {
		return false
	}
	path := clients.WithoutVendor(m.Obj.Pkg().Path())
	first, _, _ := strings.Cut(path, "/")
	switch client := clients.Of(path); {
	case client == clients.Runtime:
		return m.Obj.Name() == "FromContext" || m.Obj.Name() == "Held"
	case client != clients.None:
		return false
	}
	return strings.Contains(first, ".")
}

// takesAnyContext reports whether some argument of a call is a context.
func takesAnyContext(c *ssa.CallCommon) bool {
	return slices.ContainsFunc(c.Args, func(a ssa.Value) bool { return ssax.IsContext(a.Type()) })
}
