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
// locking is switched off, is not: who has got no lease then is not refused.
func isQuiet(fn *ssa.Function, lease int, refused func(*ssa.BasicBlock) bool) bool {
	results := fn.Signature.Results()
	if results.Len() != 2 || !ssax.IsError(results.At(1-lease).Type()) {
		return false
	}
	found := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover || !ssax.IsNilConst(ssax.Returned(ret, 0)) || !ssax.IsNilConst(ssax.Returned(ret, 1)) {
			continue
		}
		if found = true; !refused(b) {
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
