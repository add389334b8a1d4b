package decls

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
)

// Qualified is the package that declares a type which a file of another one names, and its folder. It is nil if that
// package has not been read.
func (s *Sources) Qualified(sel *ast.SelectorExpr, file *ast.File, from *types.Package) (*types.Package, string) {
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil, ""
	}
	for _, pkg := range from.Imports() {
		object := pkg.Scope().Lookup(sel.Sel.Name)
		if object != nil && object.Pos().IsValid() && importedAs(file, pkg, x.Name) {
			return pkg, filepath.Dir(s.Fset.PositionFor(object.Pos(), false).Filename)
		}
	}
	return nil, ""
}

func importedAs(file *ast.File, pkg *types.Package, name string) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool {
		path, _ := strconv.Unquote(spec.Path.Value)
		return path == pkg.Path() && (spec.Name == nil && pkg.Name() == name || spec.Name != nil && spec.Name.Name == name)
	})
}

// TypeSpec is the declaration of a type in a file, nil if there is none.
func TypeSpec(file *ast.File, name string) *ast.TypeSpec {
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range gen.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
					return t
				}
			}
		}
	}
	return nil
}
