package ll3008

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportElsewhere reports releases, in functions that do not acquire, with a context that an object keeps beside what
// cancels it, where some goroutine of the package cancels it, as one that could not prolong the lock does.
func reportElsewhere(r *check.Reporter) {
	for _, fn := range r.Index.Funcs {
		if r.Index.InTest(fn.Pos()) || fn.Parent() != nil {
			continue
		}
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			c := call.Common()
			handle := r.Index.Leases.HandleOf(c)
			if handle == nil || !r.Index.Leases.Handles(c) || clients.IsCoordinator(handles.Library(handle.Type())) ||
				r.Index.Leases.VerbOf(c, handle) != handles.VerbRelease || !r.Index.Leases.PassesContext(c) {
				return
			}
			by := cancelledBy(r, contextGiven(c), fn)
			if by == nil {
				return
			}
			pos, end := r.CallSpan(call)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s is given a context that a goroutine of %s cancels: from then on the release fails and the "+
					"lock stays until its TTL; release with context.WithoutCancel(ctx)", r.CallText(call), ssax.Outermost(by.Parent()).Name()),
				Related: []analysis.RelatedInformation{{Pos: by.Pos(), Message: "cancelled here"}},
			})
		})
	}
}

// cancelledBy is the call by which a goroutine cancels the context in a field. Nil if there is none, or if that goroutine
// releases itself, or the function that releases cancels other than when it is over.
func cancelledBy(r *check.Reporter, ctx ssa.Value, release *ssa.Function) ssa.CallInstruction {
	_, field := loadOfField(ctx)
	if field == nil {
		return nil
	}
	cancel := cancelField(r, ssax.FieldName(field.X.Type(), field.Field))
	if cancel == "" {
		return nil
	}
	var by ssa.CallInstruction
	for _, fn := range r.Index.Shipped {
		for _, call := range cancelsOf(fn, cancel) {
			switch {
			case ssax.Outermost(fn) == release:
				if !ssax.IsDeferred(call) {
					return nil
				}
			case fn.Parent() != nil && ssax.StartedBy(fn) != nil && !ssax.IsDeferred(call) && !calls(fn, release):
				by = call
			}
		}
	}
	return by
}

// calls reports whether a function calls another.
func calls(fn, other *ssa.Function) bool {
	found := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) { found = found || call.Common().StaticCallee() == other })
	return found
}
