package render

import (
	"go/ast"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// resultTypes are the types of the body's results, one for each, without the error at the end.
func (w *wrapper) resultTypes() []ast.Expr {
	var all []ast.Expr
	if w.Decl.Type.Results == nil {
		return nil
	}
	for _, field := range w.Decl.Type.Results.List {
		for range max(1, len(field.Names)) {
			all = append(all, field.Type)
		}
	}
	if !w.AddsError {
		all = all[:len(all)-1]
	}
	return all
}

// resultName derives a local's name from its type: Order gives order, []*shop.Order gives orders.
func resultName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if !isPredeclared(e.Name) && len(e.Name) > 1 {
			return lowerFirst(e.Name)
		}
	case *ast.SelectorExpr:
		return lowerFirst(e.Sel.Name)
	case *ast.StarExpr:
		return resultName(e.X)
	case *ast.IndexExpr:
		return resultName(e.X)
	case *ast.IndexListExpr:
		return resultName(e.X)
	case *ast.ArrayType:
		if name := resultName(e.Elt); name != "result" {
			return name + "s"
		}
		return "results"
	}
	return "result"
}

func someNamed(list *ast.FieldList) bool {
	return list != nil && slices.ContainsFunc(fieldNames(list), func(name string) bool { return name != "_" })
}

func fieldNames(list *ast.FieldList) []string {
	var all []string
	for _, field := range list.List {
		all = append(all, directive.IdentNames(field.Names)...)
	}
	return all
}
