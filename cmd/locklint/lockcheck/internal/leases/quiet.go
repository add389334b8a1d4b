package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some functions hand out neither a lease nor an error where somebody else has the lock:
//
//	lock, err := locker.Obtain(ctx, key, ttl, nil)
//	if errors.Is(err, redislock.ErrNotObtained) {
//		return nil, nil
//	}
//
// Their callers have a lock only where the error is nil and the lease is not.

// isQuiet reports whether a function that hands out a lease is such a one. One that returns the same elsewhere, as where
// locking is switched off, is not: who has got no lease then is not refused. A flag beside the two says no then.
func isQuiet(fn *ssa.Function, lease int, refused func(*ssa.BasicBlock) bool) bool {
	err, flag := -1, -1
	for i := range fn.Signature.Results().Len() {
		switch t := fn.Signature.Results().At(i).Type(); {
		case i == lease:
		case ssax.IsError(t) && err < 0:
			err = i
		case ssax.IsBool(t) && flag < 0:
			flag = i
		default:
			return false
		}
	}
	if err < 0 {
		return false
	}
	found := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover || !ssax.IsNilConst(ssax.Returned(ret, lease)) || !ssax.IsNilConst(ssax.Returned(ret, err)) {
			continue
		}
		if found = true; !refused(b) || flag >= 0 && !saysNo(ssax.Returned(ret, flag)) {
			return false
		}
	}
	return found
}

// refusedIn tells whether a block runs only where one of some acquires has failed.
func refusedIn(flows []*Flow) func(*ssa.BasicBlock) bool {
	return func(b *ssa.BasicBlock) bool {
		return len(b.Preds) > 0 && slices.ContainsFunc(flows, func(flow *Flow) bool {
			return !slices.ContainsFunc(b.Preds, func(p *ssa.BasicBlock) bool {
				granted, refused := flow.Taken(p, b)
				return granted || !refused
			})
		})
	}
}
