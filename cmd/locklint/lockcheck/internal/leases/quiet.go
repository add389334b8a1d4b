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
// Their callers have a lock only where the error is nil and the lease is not. A flag beside the two may say ok, or may say
// busy; where it, or a number, says neither for certain, callers that look at it are left alone.

// A quiet is what the results of a function that hands out a lease say, beside its error, of whether there is one.
type quiet struct {
	both  bool // its error may be nil without a lease
	busy  bool // its flag says yes where there is none
	vague bool // its flag, or another result, may say so in a way of its own, such as for how long to wait
}

// quietOf is that of a function. One that returns neither lease nor error elsewhere, as where locking is switched off, is
// none: who has got no lease then is not refused.
func quietOf(fn *ssa.Function, lease int, flows []*Flow, refused func(*ssa.BasicBlock) bool) quiet {
	err, flag, beside := -1, -1, false
	for i := range fn.Signature.Results().Len() {
		switch t := fn.Signature.Results().At(i).Type(); {
		case i == lease:
		case ssax.IsError(t) && err < 0:
			err = i
		case ssax.IsBool(t) && flag < 0:
			flag = i
		default:
			beside = true
		}
	}
	if err < 0 {
		return quiet{}
	}
	var without, with []ssa.Value // what the flag says
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover {
			continue
		}
		var says ssa.Value
		if flag >= 0 {
			says = ssax.Returned(ret, flag)
		}
		switch null := ssax.IsNilConst(ssax.Returned(ret, err)); {
		case !ssax.IsNilConst(ssax.Returned(ret, lease)):
			with = append(with, says)
		case null && !refused(b):
			return quiet{}
		case null:
			without = append(without, says)
		}
	}
	found := len(without) > 0
	switch {
	case flag < 0:
		return quiet{both: found, vague: found && beside}
	case found && all(without, saysYes) && all(with, saysNo),
		!found && len(with) > 0 && all(with, func(v ssa.Value) bool { return isBusyOf(v, flows) }):
		return quiet{both: true, busy: true}
	case all(without, saysNo) && !slices.ContainsFunc(with, saysNo):
		return quiet{both: found && !beside}
	}
	return quiet{both: found, vague: true}
}

func all(list []ssa.Value, is func(ssa.Value) bool) bool {
	return !slices.ContainsFunc(list, func(v ssa.Value) bool { return !is(v) })
}

// isBusyOf reports whether a value is the flag of an acquire, which says yes where there is no lease.
func isBusyOf(v ssa.Value, flows []*Flow) bool {
	ex, ok := v.(*ssa.Extract)
	return ok && slices.ContainsFunc(flows, func(flow *Flow) bool {
		return flow.Site.Busy && ex.Tuple == ssa.Value(flow.Site.Call) && ex.Index == flow.Site.OK
	})
}

// apply puts it into the fact of the function.
func (q quiet) apply(f *Fact) {
	f.Both = f.Both || q.both
	f.Busy, f.Vague = q.busy, q.vague
	if q.vague {
		f.OK = 0
	}
}

// asksBeside reports whether somebody looks at another result of a call than the lease and the error, or hands them all on.
func asksBeside(call *ssa.Call, f *Fact) bool {
	return slices.ContainsFunc(*call.Referrers(), func(use ssa.Instruction) bool {
		switch use := use.(type) {
		case *ssa.Extract:
			return use.Index != f.Returns-1 && use.Index != f.Err-1 && len(*use.Referrers()) > 0
		case *ssa.DebugRef:
			return false
		}
		return true
	})
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
