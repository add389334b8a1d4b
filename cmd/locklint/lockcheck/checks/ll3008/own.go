package ll3008

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// cancelledLater reports whether a context is made out of nothing that ends, and its function alone cancels it, once the
// release is over: then nobody cancels it before.
func cancelledLater(ctx *ssa.Extract, maker *ssa.Call, release ssa.CallInstruction) bool {
	fn := maker.Parent()
	ran := ssax.DeferOf(release, fn)
	if !endless(maker.Call.Args[0], 0) || ran == nil && release.Parent() != fn {
		return false
	}
	for _, use := range *maker.Referrers() {
		cancel, ok := use.(*ssa.Extract)
		if !ok || cancel.Index == ctx.Index {
			continue
		}
		for _, use := range *cancel.Referrers() {
			if !runsLater(use, cancel, ran, release) {
				return false
			}
		}
	}
	return true
}

// runsLater reports whether what a function does with a cancel function can only run when a release of it is over; ran is
// the statement that defers the release, nil if none does.
func runsLater(use ssa.Instruction, cancel ssa.Value, ran *ssa.Defer, release ssa.CallInstruction) bool {
	switch use := use.(type) {
	case *ssa.DebugRef:
		return true
	case *ssa.Defer:
		return use.Call.Value == cancel && (ran == nil || ssax.RunsBefore(use, ran)) && !ssax.Reaches(use.Block(), use.Block())
	case *ssa.Call:
		if ran != nil {
			return use.Call.Value == cancel && !ssax.Reaches(ran.Block(), use.Block()) && use.Block() != ran.Block()
		}
		return use.Call.Value == cancel && !ssax.ComesAfter(use, release)
	}
	return false
}

// endless reports whether a context never ends.
func endless(ctx ssa.Value, depth int) bool {
	call, ok := ssax.SoleValue(ctx).(*ssa.Call)
	if !ok || depth > ssax.MaxDepth {
		return false
	}
	fn := call.Call.StaticCallee()
	if fn == nil {
		return false
	}
	switch ssax.CalleeName(fn) {
	case "context.Background", "context.TODO", "context.WithoutCancel":
		return true
	case "context.WithValue":
		return endless(call.Call.Args[0], depth+1)
	}
	return false
}
