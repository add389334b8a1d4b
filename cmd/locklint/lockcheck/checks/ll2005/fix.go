package ll2005

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// mergeExpiry moves the time to live of a go-redis Expire into the SetNX before it. It does so only where nothing can
// tell the difference but a crash: both are direct calls of go-redis, the Expire is a statement of its own, and it
// follows the SetNX at once or after the tests of its outcome that leave the function or loop, or is the first thing that
// is done where the outcome is success; and the time to live is certainly the same at the SetNX. Nil otherwise.
func mergeExpiry(r *check.Reporter, a, e *rediscmd.Command) *analysis.SuggestedFix {
	setnx, expire := r.Index.CallExpr(a.Call), r.Index.CallExpr(e.Call)
	if setnx == nil || expire == nil || a.Name != "SetNX" || e.Name != "Expire" || a.Via+e.Via != "" ||
		a.Pipe != rediscmd.Direct || e.Pipe != rediscmd.Direct || !ssax.SameFile(r.Pass.Fset, setnx.Pos(), expire.Pos()) {
		return nil
	}
	stmt := follows(r, setnx, expire)
	if stmt == nil && runsIfGot(a, e) {
		stmt = insideTest(r, setnx, expire)
	}
	ttl, tail := expire.Args[len(expire.Args)-1], setnx.Args[len(setnx.Args)-1]
	if stmt == nil || answers.Refused(e.Call.Block(), a) || !isSettled(r, ttl, setnx, stmt) || leavesUnused(r, stmt, ttl, tail) {
		return nil
	}
	if !isSpare(r, expire, setnx) || !fixes.Pure(r, []ast.Expr{tail}) {
		return nil // something would not be called any more
	}
	text := r.Source(ttl)
	without, alone := fixes.Delete(r, stmt)
	if text == nil || !alone {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "set the expiry with SetNX",
		TextEdits: []analysis.TextEdit{
			{Pos: tail.Pos(), End: tail.End(), NewText: text},
			without,
		},
	}
}

// runsIfGot reports whether a command runs where the outcome of an acquire is success, whatever else is the case.
func runsIfGot(a, e *rediscmd.Command) bool {
	b := e.Call.Block()
	return len(b.Preds) == 1 && slices.Contains(answers.WithLock(a), b)
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

// insideTest returns the statement that is the expire call if it is the first of several in the body of a test, which asks
// setnx itself, or follows its statement as described above.
func insideTest(r *check.Reporter, setnx, expire *ast.CallExpr) ast.Stmt {
	list, at := fixes.ListAround(r, setnx)
	for i := at; i < len(list); i++ {
		test, isTest := list[i].(*ast.IfStmt)
		if isTest && len(test.Body.List) > 1 && isExpireStatement(test.Body.List[0], expire) {
			return test.Body.List[0]
		}
		if i > at && !fixes.Leaves(list[i]) {
			return nil
		}
	}
	return nil
}

// leavesUnused reports whether a statement, but for one expression in it, or an expression elsewhere uses a package or a
// variable of the function that nothing else in the file uses: without the two the program would not compile.
func leavesUnused(r *check.Reporter, stmt ast.Stmt, but, elsewhere ast.Expr) bool {
	uses := map[types.Object]bool{} // whether something else uses it, too
	for n := range r.Around(stmt) {
		file, ok := n.(*ast.File)
		if !ok {
			continue
		}
		gone := func(id *ast.Ident) bool {
			return within(id, stmt) && !within(id, but) || within(id, elsewhere)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if obj := r.Pass.TypesInfo.Uses[id]; obj != nil {
					uses[obj] = uses[obj] || !gone(id)
				}
			}
			return true
		})
	}
	for obj, used := range uses {
		_, isPackage := obj.(*types.PkgName)
		v, isVar := obj.(*types.Var)
		declaredInside := stmt.Pos() <= obj.Pos() && obj.Pos() < stmt.End()
		if !used && !declaredInside && (isPackage || isVar && !v.IsField() && v.Parent() != r.Pass.Pkg.Scope()) {
			return true
		}
	}
	return false
}

// within reports whether a node stands inside another.
func within(n, outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }

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
