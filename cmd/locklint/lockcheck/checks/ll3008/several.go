package ll3008

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportSeveral reports the same of locks that a function puts into a list or a map and releases one after the other.
func reportSeveral(r *check.Reporter) {
	sites := map[*ssa.Function][]*leases.Site{}
	for _, flow := range r.AllFlows(isLibrary) {
		fn := ssax.Outermost(flow.Fn)
		sites[fn] = append(sites[fn], flow.Site)
	}
	for fn, list := range sites {
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			c := call.Common()
			handle := r.Index.Leases.HandleOf(c)
			if handle == nil || r.Index.Leases.VerbOf(c, handle) != handles.VerbRelease || !r.Index.Leases.PassesContext(c) {
				return
			}
			if acquire := acquiredInto(ssax.ListOf(handle), list); acquire != token.NoPos {
				reportContext(r, call, acquire, anybody)
			}
		})
	}
}

// acquiredInto is where a lock is acquired that is put into a list.
func acquiredInto(list ssa.Value, sites []*leases.Site) token.Pos {
	if list == nil {
		return token.NoPos
	}
	entries, _ := ssax.EntriesOf(list)
	for _, v := range entries {
		for _, site := range sites {
			if site.Has(ssax.SoleValue(v)) {
				return site.Call.Pos()
			}
		}
	}
	return token.NoPos
}
