// Package ll1008 is the check LL1008; see doc.md.
package ll1008

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1008.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Fixable: true, Run: checkContexts})

// checkContexts reports work in a critical section that is given the very context which the acquire was given: it goes
// on when the lease is lost, and a nested acquire does not notice that the lock is held. One finding for each section,
// with one fix for all its calls. The acquire itself, once more in a loop, is LL1013's. Deferred calls are cleaning up,
// and tests have their reasons.
func checkContexts(r *check.Reporter) {
	for _, s := range r.Criticals() {
		if s.Ctx == nil || r.Index.InTest(s.Pos) {
			continue
		}
		outer := ssax.SoleValue(s.Ctx)
		if _, ok := outer.(*ssa.Call); ok && sections.IsFresh(outer.(*ssa.Call)) {
			continue
		}
		var calls []ssa.CallInstruction
		for _, call := range s.Calls() {
			if _, deferred := call.(*ssa.Defer); !deferred && call != ssa.CallInstruction(s.Call) &&
				takesContext(call.Common(), outer) {
				calls = append(calls, call)
			}
		}
		if len(calls) > 0 {
			reportContext(r, s, calls)
		}
	}
}

// takesContext reports whether a call does work, or takes another lock, with a context.
func takesContext(c *ssa.CallCommon, ctx ssa.Value) bool {
	m, ok := ssax.MethodOf(c)
	takesLock := ok && m.Recv != nil && clients.Named(m.Recv.Type(), clients.Runtime) == "Locker"
	if !takesLock && !sections.IsWork(c) || ssax.Literal(c) != nil {
		return false
	}
	takes := false
	for i, a := range c.Args {
		if handles.IsLease(a.Type()) && (i > 0 || m.Recv == nil) {
			return false // it is given the lease as well, and may mean to have both
		}
		takes = takes || ssax.IsContext(a.Type()) && ssax.SoleValue(a) == ctx
	}
	return takes
}

func reportContext(r *check.Reporter, s *sections.Section, calls []ssa.CallInstruction) {
	pos, end := r.CallSpan(calls[0])
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("%s runs under the lock from %s at %s with the context from outside: it does not stop when "+
			"the lock is lost; pass the lease's context",
			r.CallText(calls[0]), s.Name, r.Place(s.Pos, pos)),
		Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
	}
	for _, call := range calls[1:] {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: call.Common().Pos(),
			Message: "the outer context here, too"})
	}
	if fix := leaseContext(r, s, calls); fix != nil {
		d.SuggestedFixes = []analysis.SuggestedFix{*fix}
	}
	r.Report(d)
}

// leaseContext puts the lease's context in all the calls, nil if one of them cannot be changed. A goroutine is not:
// it may go on behind the section, and the lease's context, which ends with the release, would stop it half-way.
func leaseContext(r *check.Reporter, s *sections.Section, calls []ssa.CallInstruction) *analysis.SuggestedFix {
	id, text := leaseName(r, s)
	if id == nil {
		return nil
	}
	obj := r.Pass.TypesInfo.Defs[id]
	if obj == nil {
		obj = r.Pass.TypesInfo.Uses[id]
	}
	outer := outerContext(r, s)
	if obj == nil || outer == nil {
		return nil
	}
	fix := &analysis.SuggestedFix{Message: "pass the lease's context"}
	for _, call := range calls {
		x := r.Index.CallExpr(call)
		if _, started := call.(*ssa.Go); started || x == nil || !means(r, id.Name, obj, x) {
			return nil
		}
		for _, arg := range x.Args {
			if a, ok := arg.(*ast.Ident); ok && r.Pass.TypesInfo.Uses[a] == outer {
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
func leaseName(r *check.Reporter, s *sections.Section) (id *ast.Ident, text string) {
	if s.Body != nil {
		lit, ok := s.Body.Syntax().(*ast.FuncLit)
		if !ok || len(lit.Type.Params.List) == 0 || len(lit.Type.Params.List[0].Names) == 0 {
			return nil, ""
		}
		id = lit.Type.Params.List[0].Names[0]
		if id.Name == "_" {
			return nil, ""
		}
		return id, id.Name
	}
	call := r.Index.CallExpr(s.Call)
	if call == nil || s.Site.Lease < 0 {
		return nil, ""
	}
	for n := range r.Around(call) {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			continue
		}
		if len(assign.Rhs) == 1 && assign.Rhs[0] == ast.Expr(call) && s.Site.Lease < len(assign.Lhs) {
			if id, ok := assign.Lhs[s.Site.Lease].(*ast.Ident); ok && id.Name != "_" {
				return id, id.Name + ".Context()"
			}
		}
		break
	}
	return nil, ""
}

// outerContext is the variable that the acquire takes its context from, nil if it is something else.
func outerContext(r *check.Reporter, s *sections.Section) types.Object {
	call := r.Index.CallExpr(s.Call)
	if call == nil || len(call.Args) == 0 {
		return nil
	}
	for _, arg := range call.Args {
		if id, ok := arg.(*ast.Ident); ok && r.Pass.TypesInfo.Uses[id] != nil &&
			ssax.IsContext(r.Pass.TypesInfo.Uses[id].Type()) {
			return r.Pass.TypesInfo.Uses[id]
		}
	}
	return nil
}

// means reports whether a name stands for an object at some place.
func means(r *check.Reporter, name string, obj types.Object, at ast.Node) bool {
	scope := r.Pass.Pkg.Scope().Innermost(at.Pos())
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(name, at.Pos())
	return found == obj
}
