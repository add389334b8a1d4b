package sqlcalls

import (
	"go/ast"
	"go/types"
	"regexp"
)

// mentionsUnlock reports whether some text in a function, or a name of what it calls, unlocks. That a connection is
// given back does not.
func mentionsUnlock(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			found = found || unlock.MatchString(n.Value)
		case *ast.Ident:
			found = found || unlockWord.MatchString(n.Name)
		}
		return !found
	})
	return found
}

var unlockWord = regexp.MustCompile(`(?i)unlock|releaselock|release_lock`)

// handsOn reports whether a return gives its caller something by which to unlock: the connection, a struct or a literal
// that may hold it.
func (w *walk) handsOn(ret *ast.ReturnStmt) bool {
	conn := w.connection()
	found := false
	ast.Inspect(ret, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.CompositeLit:
			found = true
		case *ast.Ident:
			v := w.variable(n)
			found = found || v != nil && (v == conn || keepsConnection(v))
		}
		return !found
	})
	return found
}

// connection is the variable that the statement is sent through.
func (w *walk) connection() *types.Var {
	sel, ok := ast.Unparen(w.call.Expr.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	return w.variable(sel.X)
}

// keepsConnection reports whether a variable is a struct, a pointer to one or a function: it may keep the connection.
func keepsConnection(v *types.Var) bool {
	t := v.Type().Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	switch t.(type) {
	case *types.Struct, *types.Signature:
		return true
	}
	return false
}
