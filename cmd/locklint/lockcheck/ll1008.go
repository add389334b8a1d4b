package lockcheck

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1008 = newCheck("LL1008",
	"critical section passes on the outer context instead of the lease's", Warning, true, checkContexts)

// checkContexts reports work in a critical section that is given the very context which the acquire was given: it goes
// on when the lease is lost, and a nested acquire does not notice that the lock is held. One finding for each section,
// with one fix for all its calls. The acquire itself, once more in a loop, is LL1013's. Deferred calls are cleaning up,
// and tests have their reasons.
func checkContexts(r *reporter) {
	for _, s := range r.criticals() {
		if s.ctx == nil || r.index.inTest(s.pos) {
			continue
		}
		outer := soleValue(s.ctx)
		if _, ok := outer.(*ssa.Call); ok && isFresh(outer.(*ssa.Call)) {
			continue
		}
		var calls []ssa.CallInstruction
		for _, call := range s.calls() {
			if _, deferred := call.(*ssa.Defer); !deferred && call != ssa.CallInstruction(s.call) &&
				takesContext(call.Common(), outer) {
				calls = append(calls, call)
			}
		}
		if len(calls) > 0 {
			r.reportContext(s, calls)
		}
	}
}

// isFresh reports whether a context is context.Background() or TODO(): mentioning it twice need not be an oversight.
func isFresh(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Object() != nil && (calleeName(fn) == "context.Background" || calleeName(fn) == "context.TODO")
}

// takesContext reports whether a call does work, or takes another lock, with a context.
func takesContext(c *ssa.CallCommon, ctx ssa.Value) bool {
	m, ok := methodOf(c)
	takesLock := ok && m.recv != nil && namedIn(m.recv.Type(), lockRuntime) == "Locker"
	if !takesLock && !isWork(c) || literal(c) != nil {
		return false
	}
	takes := false
	for i, a := range c.Args {
		if isLease(a.Type()) && (i > 0 || m.recv == nil) {
			return false // it is given the lease as well, and may mean to have both
		}
		takes = takes || isContext(a.Type()) && soleValue(a) == ctx
	}
	return takes
}

func (r *reporter) reportContext(s *critical, calls []ssa.CallInstruction) {
	pos, end := r.callSpan(calls[0])
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s runs under the lock from %s at %s with the context from outside: it does not stop when "+
			"the lock is lost; pass the lease's context",
			r.callText(calls[0]), s.name, r.place(s.pos, pos)),
		Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
	}
	for _, call := range calls[1:] {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: call.Common().Pos(),
			Message: "the outer context here, too"})
	}
	if fix := r.leaseContext(s, calls); fix != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{*fix}
	}
	r.report(d)
}

// leaseContext puts the lease's context in all the calls, nil if one of them cannot be changed.
func (r *reporter) leaseContext(s *critical, calls []ssa.CallInstruction) *analysis.SuggestedFix {
	id, text := r.leaseName(s)
	if id == nil {
		return nil
	}
	obj := r.pass.TypesInfo.Defs[id]
	if obj == nil {
		obj = r.pass.TypesInfo.Uses[id]
	}
	outer := r.outerContext(s)
	if obj == nil || outer == nil {
		return nil
	}
	fix := &analysis.SuggestedFix{Message: "pass the lease's context"}
	for _, call := range calls {
		x := r.index.callExpr(call)
		if x == nil || !r.means(id.Name, obj, x) {
			return nil
		}
		for _, arg := range x.Args {
			if a, ok := arg.(*ast.Ident); ok && r.pass.TypesInfo.Uses[a] == outer {
				fix.TextEdits = append(fix.TextEdits, analysis.TextEdit{Pos: a.Pos(), End: a.End(), NewText: []byte(text)})
			}
		}
	}
	if len(fix.TextEdits) < len(calls) {
		return nil
	}
	return fix
}

// leaseName is the variable that leads to the lease's context, and how to write that context. Nil if it has no name.
func (r *reporter) leaseName(s *critical) (id *ast.Ident, text string) {
	if s.body != nil {
		lit, ok := s.body.Syntax().(*ast.FuncLit)
		if !ok || len(lit.Type.Params.List) == 0 || len(lit.Type.Params.List[0].Names) == 0 {
			return nil, ""
		}
		id = lit.Type.Params.List[0].Names[0]
		if id.Name == "_" {
			return nil, ""
		}
		return id, id.Name
	}
	call := r.index.callExpr(s.call)
	if call == nil || s.site.lease < 0 {
		return nil, ""
	}
	for _, n := range r.pathTo(call) {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			continue
		}
		if len(assign.Rhs) == 1 && assign.Rhs[0] == ast.Expr(call) && s.site.lease < len(assign.Lhs) {
			if id, ok := assign.Lhs[s.site.lease].(*ast.Ident); ok && id.Name != "_" {
				return id, id.Name + ".Context()"
			}
		}
		break
	}
	return nil, ""
}

// outerContext is the variable that the acquire takes its context from, nil if it is something else.
func (r *reporter) outerContext(s *critical) types.Object {
	call := r.index.callExpr(s.call)
	if call == nil || len(call.Args) == 0 {
		return nil
	}
	for _, arg := range call.Args {
		if id, ok := arg.(*ast.Ident); ok && r.pass.TypesInfo.Uses[id] != nil && isContext(r.pass.TypesInfo.Uses[id].Type()) {
			return r.pass.TypesInfo.Uses[id]
		}
	}
	return nil
}

// means reports whether a name stands for an object at some place.
func (r *reporter) means(name string, obj types.Object, at ast.Node) bool {
	scope := r.pass.Pkg.Scope().Innermost(at.Pos())
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(name, at.Pos())
	return found == obj
}
