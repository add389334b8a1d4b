package leaks

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// deferRelease offers to insert defer lease.Release(ctx) behind the error check. It does so only for the plain form
//
//	lease, err := locks.Acquire(ctx, …)
//	if err != nil {
//		return …
//	}
//
// outside loops, where a deferred release would come too late, and where the lease stays in the function on every path:
// one that is stored, returned or used by a goroutine would be taken from whoever has it by then (see outlives). A
// release that the function already has does no harm: Release is idempotent. Nil otherwise.
func deferRelease(r *check.Reporter, call *ast.CallExpr, flow *leases.Flow) *analysis.SuggestedFix {
	if flow.Site.Err < 0 || len(call.Args) == 0 || flow.HandedOn || flow.GaveUp {
		return nil
	}
	ctx := contextText(call.Args[0])
	if t := r.Pass.TypesInfo.TypeOf(call.Args[0]); ctx == "" || t == nil || !ssax.IsContext(t) {
		return nil
	}
	var list []ast.Stmt
	for n := range r.Around(call) {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return nil
		case *ast.FuncDecl, *ast.FuncLit:
			return insertDefer(r, call, flow, list, ctx)
		}
		if list == nil {
			list = fixes.Statements(n)
		}
	}
	return nil
}

// insertDefer makes the fix once the statements around the acquire are known.
func insertDefer(r *check.Reporter, call *ast.CallExpr, flow *leases.Flow, list []ast.Stmt,
	ctx string) *analysis.SuggestedFix {
	for i, s := range list {
		assign, ok := s.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 || assign.Rhs[0] != ast.Expr(call) || i+1 == len(list) {
			continue
		}
		lease, ok1 := assign.Lhs[flow.Site.Lease].(*ast.Ident)
		err, ok2 := assign.Lhs[flow.Site.Err].(*ast.Ident)
		if !ok1 || !ok2 || lease.Name == "_" || err.Name == "_" || !fixes.TestsError(list[i+1], err.Name) ||
			outlives(r.Pass.TypesInfo, list[i+2:], lease.Name) {
			return nil
		}
		behind := fixes.Behind(r, list[i+1])
		indent := fmt.Sprintf("\n%s", fixes.IndentOf(r, s))
		return &analysis.SuggestedFix{
			Message: "defer the release behind the error check",
			TextEdits: []analysis.TextEdit{{
				Pos: behind, End: behind,
				NewText: fmt.Appendf(nil, "%sdefer %s.Release(%s)", indent, lease.Name, ctx),
			}},
		}
	}
	return nil
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
