package directive

import "go/ast"

// IdentNames are the names of identifiers.
func IdentNames(idents []*ast.Ident) []string {
	var all []string
	for _, ident := range idents {
		all = append(all, ident.Name)
	}
	return all
}
