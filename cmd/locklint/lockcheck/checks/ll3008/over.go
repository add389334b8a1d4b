package ll3008

import (
	"fmt"
	"go/token"
	"go/types"

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
		ctx := bareContext(contextArg(release.Common()))
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
			ctx := bareContext(contextArg(call.Common()))
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
	if len(args) > 0 && embedsContext(args[0].Type()) {
		return args[0]
	}
	return nil
}

// embedsContext reports whether a type is or points to a struct that a context is embedded in.
func embedsContext(t types.Type) bool {
	st, ok := ssax.Elem(t).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range st.Fields() {
		if f.Embedded() && ssax.IsContext(f.Type()) {
			return true
		}
	}
	return false
}

// bareContext is a context as the program names it: without the conversion of an interface that has more methods, and
// the struct for a context that is embedded in it.
func bareContext(v ssa.Value) ssa.Value {
	for v != nil {
		v = ssax.SoleValue(v)
		switch to := v.(type) {
		case *ssa.ChangeInterface:
			v = to.X
			continue
		case *ssa.MakeInterface:
			v = to.X
			continue
		case *ssa.UnOp:
			if field, ok := to.X.(*ssa.FieldAddr); ok && ssax.IsContext(to.Type()) && embedsContext(field.X.Type()) {
				v = structOf(field.X)
			}
		case *ssa.Field:
			if ssax.IsContext(to.Type()) && embedsContext(to.X.Type()) {
				v = to.X
				continue
			}
		}
		break
	}
	return v
}

// structOf is the struct behind an address: what a variable was set to, if that happened once.
func structOf(addr ssa.Value) ssa.Value {
	if cell, ok := ssax.CellOf(addr).(*ssa.Alloc); ok {
		if stored, ok := ssax.OnlyStore(cell); ok {
			return stored
		}
	}
	return addr
}

// isOver reports whether an instruction runs only once a context has ended: behind a receive from its channel, behind a
// test of its error, or behind a call that cancels it.
func isOver(r *check.Reporter, ctx ssa.Value, at ssa.CallInstruction) bool {
	cancels := cancelOf(r, ctx)
	for b := at.Block(); b != nil; b = b.Idom() {
		for _, instr := range b.Instrs {
			if instr == at {
				break
			}
			if recv, ok := instr.(*ssa.UnOp); ok && recv.Op == token.ARROW && isMethodOf(ctx, recv.X, "Done") {
				return true
			}
			if call, ok := instr.(*ssa.Call); ok && cancels(call.Call.Value) {
				return true
			}
		}
		if d := b.Idom(); d != nil && len(b.Preds) == 1 && endedOn(ctx, d, b) {
			return true
		}
	}
	return false
}

// endedOn reports whether the branch from one block to another is taken only where a context has ended.
func endedOn(ctx ssa.Value, from, to *ssa.BasicBlock) bool {
	branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cond, ok := branch.Cond.(*ssa.BinOp)
	if !ok {
		return false
	}
	yes := from.Succs[0] == to
	if ssax.IsNilConst(cond.Y) && isMethodOf(ctx, ssax.SoleValue(cond.X), "Err") {
		return yes == (cond.Op == token.NEQ)
	}
	index, ok := cond.X.(*ssa.Extract)
	if !ok || !yes || cond.Op != token.EQL {
		return false
	}
	sel, ok := index.Tuple.(*ssa.Select)
	i := ssax.IntOf(cond.Y)
	return ok && index.Index == 0 && i >= 0 && i < len(sel.States) && isMethodOf(ctx, sel.States[i].Chan, "Done")
}

// isMethodOf reports whether a value is the result of a method of a context.
func isMethodOf(ctx, v ssa.Value, name string) bool {
	call, ok := ssax.SoleValue(v).(*ssa.Call)
	return ok && call.Call.IsInvoke() && call.Call.Method.Name() == name && bareContext(call.Call.Value) == ctx
}
