package check

import (
	"go/ast"
	"go/token"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/generated"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
)

// Target describes the function to the directive package.
func (r *Reporter) Target(file *ast.File, decl *ast.FuncDecl) directive.Target {
	return directive.Target{
		File: file, Filename: r.Pass.Fset.PositionFor(file.Pos(), false).Filename, Decl: decl, Pkg: r.Pass.Pkg,
		Info:      r.Pass.TypesInfo,
		Generated: r.isOutputAt,
	}
}

// A FoundFile is a file with comments that mention directives, and what they are.
type FoundFile struct {
	*directive.Found
	File *ast.File
}

// Directives are those of the package, with its defaults brought in. Lockgen's own files are left out.
func (r *Reporter) Directives() []FoundFile {
	var files []*ast.File
	for _, file := range r.Pass.Files {
		if !r.IsOutput(file) && guards.MentionsDirective(file) {
			files = append(files, file)
		}
	}
	var all []FoundFile
	for i, found := range directive.FindAll(files, guards.Place(r.Pass)) {
		all = append(all, FoundFile{found, files[i]})
	}
	return all
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
