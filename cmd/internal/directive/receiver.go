package directive

import "go/ast"

// ReceiverBase is the name of a receiver's type, without pointer, package and type arguments.
func ReceiverBase(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return ReceiverBase(e.X)
	case *ast.IndexExpr:
		return ReceiverBase(e.X)
	case *ast.IndexListExpr:
		return ReceiverBase(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// ReceiverTypeParams are the names that a method has for the type parameters of its receiver.
func ReceiverTypeParams(e ast.Expr) []string {
	var args []ast.Expr
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return ReceiverTypeParams(e.X)
	case *ast.IndexExpr:
		args = []ast.Expr{e.Index}
	case *ast.IndexListExpr:
		args = e.Indices
	}
	var names []string
	for _, arg := range args {
		if id, ok := arg.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}
