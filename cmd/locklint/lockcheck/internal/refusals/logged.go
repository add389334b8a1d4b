package refusals

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds acquires whose error is logged, whatever it is, as in
//
//	log.Println(mutex.LockContext(ctx))
//	defer mutex.UnlockContext(ctx)
//	return work(ctx)

// onlyLogsError reports whether a function works under a lock, and releases it, and does nothing with the error of the
// acquire but to log it.
func onlyLogsError(r *check.Reporter, flow *leases.Flow) bool {
	site := flow.Site
	if site.Sure || site.OK >= 0 || !flow.Released || flow.HandedOn || workOf(r, flow.Unasked) == nil {
		return false
	}
	err := errorOf(site, func(lease ssa.Value) bool { return onlyCalled(r, lease) })
	return err != nil && onlyLogged(err)
}

// onlyLogged reports whether a value is given to calls that log, and to nothing else.
func onlyLogged(v ssa.Value) bool {
	logged := false
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.ChangeInterface:
			if !onlyLogged(use) {
				return false
			}
		case *ssa.MakeInterface:
			if !onlyLogged(use) {
				return false
			}
		case *ssa.Slice: // the arguments of a call
			if !onlyLogged(use) {
				return false
			}
		case *ssa.Store:
			elem, ok := use.Addr.(*ssa.IndexAddr)
			if !ok || use.Val != v || !isArguments(elem.X) || !onlySliced(elem.X) {
				return false
			}
		case *ssa.Call:
			if sections.IsWork(&use.Call) || !ssax.Unused(use) || isBuiltin(&use.Call) {
				return false
			}
		default:
			return false
		}
		logged = true
	}
	return logged
}

// isArguments reports whether a value is the array of a call's last arguments.
func isArguments(v ssa.Value) bool {
	array, ok := v.(*ssa.Alloc)
	return ok && array.Comment == "varargs"
}

// onlySliced reports whether such an array goes to calls that log.
func onlySliced(array ssa.Value) bool {
	for _, use := range *array.Referrers() {
		if list, ok := use.(*ssa.Slice); ok && !onlyLogged(list) {
			return false
		}
	}
	return true
}

func isBuiltin(c *ssa.CallCommon) bool {
	_, ok := c.Value.(*ssa.Builtin)
	return ok
}
