package ll3008

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportOver reports releases with a context that is over when they are called, as behind <-ctx.Done(): they never do
// anything. The release may be the call itself, or stand in a function of the package that hands its context on to it.
func reportOver(r *check.Reporter) {
	releases := map[ssa.CallInstruction]token.Pos{} // and where each lock is acquired
	for _, flow := range r.Flows(isLibrary) {
		for _, release := range ssax.CallsOf(flow.Releases) {
			if r.Index.Leases.PassesContext(release.Common()) {
				releases[release] = flow.Site.Call.Pos()
			}
		}
	}
	for _, l := range r.Index.Locks {
		releases[l.Release.Call] = l.Acquire.Pos()
	}
	within := map[*ssa.Function]token.Pos{} // functions that release with the context that they are given
	for release, acquire := range releases {
		ctx := ssax.BareContext(contextArg(release.Common()))
		if p, ok := ctx.(*ssa.Parameter); ok && p == contextParam(p.Parent()) {
			within[p.Parent()] = max(within[p.Parent()], acquire)
		}
	}
	for _, fn := range r.Index.Funcs {
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			acquire, direct := releases[call]
			if !direct {
				acquire = within[call.Common().StaticCallee()]
			}
			ctx := ssax.BareContext(contextArg(call.Common()))
			if acquire == token.NoPos || ctx == nil || r.Index.InTest(call.Pos()) || !isOver(r, ctx, call) {
				return
			}
			pos, end := r.CallSpan(call)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s is given a context that is over by then: the release fails every time and the lock "+
					"stays until its TTL; release with context.WithoutCancel(ctx)", r.CallText(call)),
				Related: []analysis.RelatedInformation{{Pos: acquire, Message: "acquired here"}},
			})
		})
	}
}

// contextParam is the first parameter of a function behind its receiver.
func contextParam(fn *ssa.Function) *ssa.Parameter {
	i := 0
	if fn.Signature.Recv() != nil {
		i = 1
	}
	if i < len(fn.Params) {
		return fn.Params[i]
	}
	return nil
}

// contextArg is ssax.ContextOf, also for a struct of the program that a context is embedded in.
func contextArg(c *ssa.CallCommon) ssa.Value {
	if ctx := ssax.ContextOf(c); ctx != nil {
		return ctx
	}
	m, ok := ssax.MethodOf(c)
	if !ok {
		return nil
	}
	args := m.Arguments()
	if len(args) > 0 && ssax.EmbedsContext(args[0].Type()) {
		return args[0]
	}
	return nil
}

// isOver reports whether an instruction runs only once a context has ended: see ssax.IsOver, or behind a call that
// cancels it.
func isOver(r *check.Reporter, ctx ssa.Value, at ssa.CallInstruction) bool {
	cancels := cancelOf(r, ctx)
	return ssax.IsOver(ctx, at, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && cancels(call.Call.Value)
	})
}
