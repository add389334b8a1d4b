package check

import (
	"go/ast"
	"go/token"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/generated"
)

// Target describes the function to the directive package.
func (r *Reporter) Target(file *ast.File, decl *ast.FuncDecl) directive.Target {
	return directive.Target{
		File: file, Filename: r.Pass.Fset.PositionFor(file.Pos(), false).Filename, Decl: decl, Pkg: r.Pass.Pkg,
		Info:      r.Pass.TypesInfo,
		Generated: r.isOutputAt,
	}
}

// IsOutput reports whether lockgen has written a file.
func (r *Reporter) IsOutput(file *ast.File) bool {
	return r.Ignores.Lockgen[r.Pass.Fset.Position(file.Package).Filename]
}

// isOutputAt is IsOutput for the file of a position, which may be one of another package: of that only the name is
// known.
func (r *Reporter) isOutputAt(pos token.Pos) bool {
	name := r.Pass.Fset.Position(pos).Filename
	return r.Ignores.Lockgen[name] || generated.Name.MatchString(filepath.Base(name))
}
