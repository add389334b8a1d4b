package refusals

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds acquires whose error is put into a field for others, as in
//
//	lock, reply.Err = locker.Obtain(ctx, key, ttl, nil)
//	defer lock.Release(ctx)
//	reply.Value = work(ctx)
//
// where the work is done by the time that somebody looks.

// putsErrorAway reports whether a function works under a lock, and releases it, and does nothing with the error of the
// acquire but to put it into a field that it never reads, of an object that nobody else gets until it returns.
func putsErrorAway(r *check.Reporter, flow *leases.Flow) bool {
	site := flow.Site
	if site.Sure || site.OK >= 0 || !flow.Released || flow.HandedOn || workOf(r, flow.Unasked) == nil {
		return false
	}
	err := errorOf(site, func(lease ssa.Value) bool { return onlyCalled(r, lease) })
	if err == nil {
		return false
	}
	put := false
	for _, use := range *err.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			field, ok := use.Addr.(*ssa.FieldAddr)
			if !ok || use.Val != err || !isUnread(field) {
				return false
			}
			put = true
		default:
			return false
		}
	}
	return put
}

// isUnread reports whether a function does nothing with a field but set it, and gives the object to nobody but its caller.
func isUnread(field *ssa.FieldAddr) bool {
	switch field.X.(type) {
	case *ssa.Alloc, *ssa.Parameter:
	default:
		return false
	}
	for _, use := range *field.X.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef, *ssa.Return:
		case *ssa.FieldAddr:
			if use.Field == field.Field && !onlySet(use) {
				return false
			}
		case *ssa.Store:
			if use.Addr != field.X {
				return false
			}
		case *ssa.UnOp: // the whole object
			if !onlyReturned(use) {
				return false
			}
		default:
			return false
		}
	}
	return types.Identical(ssax.Elem(field.Type()), types.Universe.Lookup("error").Type())
}

func onlySet(field *ssa.FieldAddr) bool {
	for _, use := range *field.Referrers() {
		if st, ok := use.(*ssa.Store); ok && st.Addr == ssa.Value(field) {
			continue
		}
		if _, ok := use.(*ssa.DebugRef); !ok {
			return false
		}
	}
	return true
}

// onlyReturned reports whether an object that has been read is returned, by way of the result that it was read from.
func onlyReturned(v *ssa.UnOp) bool {
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.Return, *ssa.DebugRef:
		case *ssa.Store:
			if use.Addr != v.X {
				return false
			}
		default:
			return false
		}
	}
	return true
}
