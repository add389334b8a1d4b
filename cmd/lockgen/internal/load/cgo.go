package load

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
)

// readsC tells whether a key's value could not be resolved because its type is one of C, by whatever name.
func readsC(u *bound.Func, in *Folder, sources *decls.Sources) bool {
	for _, key := range u.Keys {
		for _, part := range key.Parts {
			if part.Hole == nil || part.Value != nil {
				continue
			}
			for _, root := range append([]*directive.Param{u.Recv}, u.Params...) {
				if root != nil && root.Name == part.Hole.Path[0].Name {
					c := &cSearch{sources: sources, path: part.Hole.Path, seen: map[*ast.TypeSpec]bool{}}
					if c.leadsToC(root.Expr, u.File, u.Pkg, in.Paths()) {
						return true
					}
				}
			}
		}
	}
	return false
}

// A cSearch follows type expressions from declaration to declaration, as far as a path selects from them.
type cSearch struct {
	sources *decls.Sources
	path    []directive.Ident
	seen    map[*ast.TypeSpec]bool
}

// leadsToC follows an expression that stands in a file of a package, whose files are at paths.
func (c *cSearch) leadsToC(e ast.Expr, file *ast.File, pkg *types.Package, paths []string) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return c.leadsToC(e.X, file, pkg, paths)
	case *ast.IndexExpr:
		return c.leadsToC(e.X, file, pkg, paths)
	case *ast.StructType:
		return slices.ContainsFunc(e.Fields.List, func(field *ast.Field) bool {
			return c.selects(field) && c.leadsToC(field.Type, file, pkg, paths)
		})
	case *ast.Ident:
		return c.declaredFromC(e.Name, pkg, paths)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "C" && constraints.UsesCgo(file) {
			return true
		}
		if imported, dir := c.sources.Qualified(e, file, pkg); imported != nil {
			beside, _ := filepath.Glob(filepath.Join(dir, "*.go"))
			return c.declaredFromC(e.Sel.Name, imported, beside)
		}
	}
	return false
}

func (c *cSearch) declaredFromC(name string, pkg *types.Package, paths []string) bool {
	for _, file := range c.sources.ParseAll(paths) {
		if spec := decls.TypeSpec(file, name); spec != nil && !c.seen[spec] {
			c.seen[spec] = true
			if c.leadsToC(spec.Type, file, pkg, paths) {
				return true
			}
		}
	}
	return false
}

// selects tells whether the path leads through a field, also by way of an embedded one.
func (c *cSearch) selects(field *ast.Field) bool {
	if len(field.Names) == 0 {
		return true
	}
	return slices.ContainsFunc(field.Names, func(name *ast.Ident) bool {
		return slices.ContainsFunc(c.path[1:], func(step directive.Ident) bool { return step.Name == name.Name })
	})
}
