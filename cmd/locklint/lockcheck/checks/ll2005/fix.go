package ll2005

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// mergeExpiry moves the time to live of a go-redis Expire into the SetNX before it. It does so only where nothing can
// tell the difference but a crash: both are direct calls of go-redis, the Expire is a statement of its own, and it
// follows the SetNX at once or after the tests of its outcome that leave the function or loop. Nil otherwise.
func mergeExpiry(r *check.Reporter, a, e *rediscmd.Command) *analysis.SuggestedFix {
	setnx, expire := r.Index.CallExpr(a.Call), r.Index.CallExpr(e.Call)
	if setnx == nil || expire == nil || a.Name != "SetNX" || e.Name != "Expire" || a.Via+e.Via != "" ||
		a.Pipe != rediscmd.Direct || e.Pipe != rediscmd.Direct || !ssax.SameFile(r.Pass.Fset, setnx.Pos(), expire.Pos()) {
		return nil
	}
	stmt := follows(r, setnx, expire)
	ttl, tail := expire.Args[len(expire.Args)-1], setnx.Args[len(setnx.Args)-1]
	if stmt == nil || !movable(r, ttl, setnx) {
		return nil
	}
	text := r.Source(ttl)
	if text == nil {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "set the expiry with SetNX",
		TextEdits: []analysis.TextEdit{
			{Pos: tail.Pos(), End: tail.End(), NewText: text},
			fixes.DeleteLine(r, stmt),
		},
	}
}

// follows returns the statement that is the expire call if it follows the statement of setnx as described above.
func follows(r *check.Reporter, setnx, expire *ast.CallExpr) ast.Stmt {
	list, at := fixes.ListAround(r, setnx)
	for i := at + 1; i < len(list); i++ {
		if isExpireStatement(list[i], expire) {
			return list[i]
		}
		if !fixes.Leaves(list[i]) {
			return nil
		}
	}
	return nil
}

// isExpireStatement reports whether a statement does nothing but the expire call: as a statement of its own, or in
// the form if err := Expire(…).Err(); err != nil { return … }.
func isExpireStatement(s ast.Stmt, expire *ast.CallExpr) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return isCallOn(s.X, expire)
	case *ast.IfStmt:
		assign, ok := s.Init.(*ast.AssignStmt)
		return ok && fixes.Leaves(s) && assign.Tok == token.DEFINE && len(assign.Rhs) == 1 && isCallOn(assign.Rhs[0], expire)
	}
	return false
}

// isCallOn reports whether an expression is the call, or asks a result of it that nobody uses, as in Expire(…).Err().
func isCallOn(x ast.Expr, call *ast.CallExpr) bool {
	if x == ast.Expr(call) {
		return true
	}
	outer, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	return ok && sel.X == ast.Expr(call)
}

// movable reports whether an expression means the same where setnx stands: it is built of constants and of variables
// declared before, and calls nothing.
func movable(r *check.Reporter, x ast.Expr, setnx *ast.CallExpr) bool {
	ok := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if tv := r.Pass.TypesInfo.Types[n.Fun]; !tv.IsType() {
				ok = false
			}
		case *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.Ident:
			v, isVar := r.Pass.TypesInfo.Uses[n].(*types.Var)
			if isVar && v.Parent() != nil && v.Parent() != r.Pass.Pkg.Scope() && v.Pos() > setnx.Pos() {
				ok = false
			}
		}
		return ok
	})
	return ok
}
