package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
)

// deferRelease offers to insert defer lease.Release(ctx) behind the error check. It does so only for the plain form
//
//	lease, err := locks.Acquire(ctx, …)
//	if err != nil {
//		return …
//	}
//
// outside loops, where a deferred release would come too late. A release that the function already has does no harm:
// Release is idempotent. Nil otherwise.
func (r *reporter) deferRelease(call *ast.CallExpr, flow *siteFlow) *analysis.SuggestedFix {
	if flow.site.err < 0 || len(call.Args) == 0 {
		return nil
	}
	ctx := contextText(call.Args[0])
	if t := r.pass.TypesInfo.TypeOf(call.Args[0]); ctx == "" || t == nil || !isContext(t) {
		return nil
	}
	var list []ast.Stmt
	for _, n := range r.pathTo(call) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return nil
		case *ast.FuncDecl, *ast.FuncLit:
			return r.insertDefer(call, flow, list, ctx)
		}
		if list == nil {
			list = statements(n)
		}
	}
	return nil
}

// insertDefer makes the fix once the statements around the acquire are known.
func (r *reporter) insertDefer(call *ast.CallExpr, flow *siteFlow, list []ast.Stmt, ctx string) *analysis.SuggestedFix {
	for i, s := range list {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 || assign.Rhs[0] != ast.Expr(call) || i+1 == len(list) {
			continue
		}
		lease, ok1 := assign.Lhs[flow.site.lease].(*ast.Ident)
		err, ok2 := assign.Lhs[flow.site.err].(*ast.Ident)
		if !ok1 || !ok2 || lease.Name == "_" || err.Name == "_" || !testsError(list[i+1], err.Name) {
			return nil
		}
		indent := fmt.Sprintf("\n%s", indentOf(r.pass.Fset, s))
		return &analysis.SuggestedFix{
			Message: "defer the release behind the error check",
			TextEdits: []analysis.TextEdit{{
				Pos: list[i+1].End(), End: list[i+1].End(),
				NewText: fmt.Appendf(nil, "%sdefer %s.Release(%s)", indent, lease.Name, ctx),
			}},
		}
	}
	return nil
}

// testsError reports whether a statement is if err != nil { …; return }.
func testsError(s ast.Stmt, err string) bool {
	test, ok := s.(*ast.IfStmt)
	if !ok || test.Init != nil || !leaves(s) {
		return false
	}
	cond, ok := test.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ {
		return false
	}
	x, ok1 := cond.X.(*ast.Ident)
	y, ok2 := cond.Y.(*ast.Ident)
	return ok1 && ok2 && x.Name == err && y.Name == "nil"
}

// contextText is the text of a context argument that can be repeated: a variable, or a call of context itself.
func contextText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.CallExpr:
		sel, ok := x.Fun.(*ast.SelectorExpr)
		if !ok || len(x.Args) > 0 {
			return ""
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && pkg.Name == "context" {
			return "context." + sel.Sel.Name + "()"
		}
	}
	return ""
}

// indentOf is the white space before a statement: one tab for each column, as gofmt writes it.
func indentOf(fset *token.FileSet, s ast.Stmt) string {
	n := fset.Position(s.Pos()).Column - 1
	tabs := make([]byte, n)
	for i := range tabs {
		tabs[i] = '\t'
	}
	return string(tabs)
}
