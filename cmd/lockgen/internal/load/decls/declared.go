package decls

import (
	"go/ast"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// Declared are the names that a declaration of a package introduces, methods aside.
func Declared(decl ast.Decl) []string {
	var found []string
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			found = append(found, decl.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				found = append(found, spec.Name.Name)
			case *ast.ValueSpec:
				found = append(found, directive.IdentNames(spec.Names)...)
			}
		}
	}
	return found
}
