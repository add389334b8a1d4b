package ll2005

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"time"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fixes"
)

// This file tells whether a time to live is the same at the SetNX as at the Expire, and can be asked for there: behind the
// SetNX it may be read anew, doubled, or only looked at once something else is known not to be nil.

// isSettled reports whether an expression certainly has the value at setnx that it has in the statement of the Expire: it
// is a constant, or made of variables that nothing in between can change, and cannot panic. A constant below a second is
// no expiry that Expire would set.
func isSettled(r *check.Reporter, ttl ast.Expr, setnx *ast.CallExpr, stmt ast.Stmt) bool {
	if !meansTheSame(r, ttl, setnx.Pos()) {
		return false
	}
	if v := r.Pass.TypesInfo.Types[ttl].Value; v != nil {
		n, exact := constant.Int64Val(constant.ToInt(v))
		return exact && n >= int64(time.Second)
	}
	vars, ok := operands(r, ttl, setnx)
	if !ok {
		return false
	}
	touched := func(n ast.Node) bool { return changes(r, n, setnx, vars) }
	return !slices.ContainsFunc(setnx.Args, func(x ast.Expr) bool { return touched(x) }) &&
		!slices.ContainsFunc(inBetween(r, setnx, stmt), touched)
}

// meansTheSame reports whether each name in an expression is that of the same thing at another place.
func meansTheSame(r *check.Reporter, x ast.Expr, at token.Pos) bool {
	scope, same := r.Pass.Pkg.Scope().Innermost(at), true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			same = same && meansTheSame(r, n.X, at)
			return false
		case *ast.Ident:
			if scope == nil {
				same = false
				break
			}
			_, there := scope.LookupParent(n.Name, at)
			same = same && there != nil && there == r.Pass.TypesInfo.Uses[n]
		}
		return same
	})
	return same
}

// operands are the variables that an expression is made of, itself or by way of their fields. Not ok if it does anything
// else than compute, or could panic where setnx does not.
func operands(r *check.Reporter, x ast.Expr, setnx *ast.CallExpr) (vars []*types.Var, ok bool) {
	info := r.Pass.TypesInfo
	if info.Types[x].Value != nil {
		return nil, true
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return operands(r, x.X, setnx)
	case *ast.Ident:
		v, ok := info.Uses[x].(*types.Var)
		return []*types.Var{v}, ok
	case *ast.BinaryExpr:
		switch x.Op {
		case token.ADD, token.SUB, token.MUL:
		default:
			return nil, false
		}
		left, ok1 := operands(r, x.X, setnx)
		right, ok2 := operands(r, x.Y, setnx)
		return append(left, right...), ok1 && ok2
	case *ast.CallExpr:
		if len(x.Args) != 1 || !info.Types[x.Fun].IsType() {
			return nil, false
		}
		return operands(r, x.Args[0], setnx)
	case *ast.SelectorExpr:
		if v, ok := info.Uses[x.Sel].(*types.Var); ok && !v.IsField() {
			return []*types.Var{v}, true // of another package
		}
		field := info.Selections[x]
		if field == nil || len(field.Index()) != 1 || isPointer(info.TypeOf(x.X)) && !readsField(r, setnx, x.X) {
			return nil, false
		}
		return operands(r, x.X, setnx)
	}
	return nil, false
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// readsField reports whether a call reads a field behind a pointer, a variable, whatever comes of it: then the variable is
// not nil.
func readsField(r *check.Reporter, call *ast.CallExpr, pointer ast.Expr) bool {
	id, ok := pointer.(*ast.Ident)
	if !ok {
		return false
	}
	found := false
	ast.Inspect(call, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			return n.Op != token.LAND && n.Op != token.LOR
		case *ast.SelectorExpr:
			base, ok := n.X.(*ast.Ident)
			field := r.Pass.TypesInfo.Selections[n]
			found = found || ok && field != nil && field.Kind() == types.FieldVal &&
				r.Pass.TypesInfo.Uses[base] == r.Pass.TypesInfo.Uses[id]
		}
		return true
	})
	return found
}

// inBetween are the pieces of code that may run behind a SetNX and before the statement of the Expire. What a test does
// before it leaves is none of them.
func inBetween(r *check.Reporter, setnx *ast.CallExpr, stmt ast.Stmt) (code []ast.Node) {
	list, at := fixes.ListAround(r, setnx)
	for _, s := range list[at:] {
		if s == stmt {
			break
		}
		test, isTest := s.(*ast.IfStmt)
		if !isTest {
			code = append(code, s)
			continue
		}
		if test.Init != nil {
			code = append(code, test.Init)
		}
		code = append(code, test.Cond)
		if within(stmt, test.Body) {
			break
		}
		if !fixes.Ends(test.Body) {
			code = append(code, test.Body)
		}
		if test.Else != nil {
			code = append(code, test.Else)
		}
	}
	return code
}

// changes reports whether a piece of code may change one of some variables: assigns to it, or to what may be a part of it,
// or calls what may. What setnx answers with is only asked.
func changes(r *check.Reporter, code ast.Node, setnx *ast.CallExpr, vars []*types.Var) bool {
	assigns := func(x ast.Expr) bool {
		id, ok := x.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := r.Pass.TypesInfo.ObjectOf(id).(*types.Var)
		return ok && slices.Contains(vars, v)
	}
	shared := slices.ContainsFunc(vars, func(v *types.Var) bool { return !isPrivate(r, v, setnx) })
	found := false
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, assigns)
		case *ast.IncDecStmt:
			found = found || assigns(n.X)
		case *ast.CallExpr:
			asks := n == setnx || isCallOn(n, setnx) || r.Pass.TypesInfo.Types[n.Fun].IsType()
			found = found || shared && !asks
		case *ast.UnaryExpr:
			found = found || shared && n.Op == token.ARROW
		case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt:
			found = true
		}
		return !found
	})
	return found
}

// isPrivate reports whether nothing but the assignments of the function around a node can change a variable: it is a number
// of the function's own, whose address goes nowhere, and that no literal captures.
func isPrivate(r *check.Reporter, v *types.Var, n ast.Node) bool {
	if _, ok := v.Type().Underlying().(*types.Basic); !ok || v.IsField() || v.Parent() == v.Pkg().Scope() {
		return false
	}
	uses := func(x ast.Expr) bool {
		id, ok := ast.Unparen(x).(*ast.Ident)
		return ok && r.Pass.TypesInfo.Uses[id] == v
	}
	private := true
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			private = private && !(n.Op == token.AND && uses(n.X))
		case *ast.SelectorExpr: // a method, which may have a pointer
			private = private && !uses(n.X)
		case *ast.FuncLit:
			if n.Pos() <= v.Pos() && v.Pos() < n.End() {
				break
			}
			ast.Inspect(n, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				private = private && !(ok && uses(id))
				return private
			})
		}
		return private
	}
	for outer := range r.Around(n) {
		if fn, ok := outer.(*ast.FuncDecl); ok {
			ast.Inspect(fn, look)
			return private
		}
	}
	return false
}

// isSpare reports whether nobody misses the Expire but for what it sets: what else it calls is pure, or called by setnx,
// too.
func isSpare(r *check.Reporter, expire, setnx *ast.CallExpr) bool {
	said := func(x ast.Expr) bool {
		text := r.Source(x)
		return slices.ContainsFunc(setnx.Args, func(arg ast.Expr) bool { return bytes.Equal(r.Source(arg), text) })
	}
	for _, x := range append([]ast.Expr{expire.Fun}, expire.Args[:len(expire.Args)-1]...) {
		if sel, ok := x.(*ast.SelectorExpr); ok && x == expire.Fun {
			x = sel.X
		}
		if !fixes.Pure(r, []ast.Expr{x}) && !said(x) {
			return false
		}
	}
	return true
}
