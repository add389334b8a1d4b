package bound

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// A Func is one function with a directive, bound.
type Func struct {
	*directive.Func
	Dir  string // of the package, absolute
	File *ast.File
	Pkg  *types.Package
	Info *types.Info
	Set  output.Set
}

// At is a problem of the function as a whole: its directive's first line stands for it.
func (u *Func) At(fset *token.FileSet, kind, format string, args ...any) problem.Problem {
	return problem.At(fset, u.Directive.Pos(), u.Directive.End(), kind, format, args...)
}

// JobID is what the job is registered as.
func (u *Func) JobID() string { return u.JobName(u.Pkg.Path()) }

// IsJob tells whether the function is scheduled.
func (u *Func) IsJob() bool { return u.Directive.Cron != nil }

// Owner is the receiver type that the job is registered by, "" for the package.
func (u *Func) Owner() string { return u.RecvType }

// QualifiedName is the function, or the type and the method.
func (u *Func) QualifiedName() string {
	if u.RecvType != "" {
		return u.RecvType + "." + u.Decl.Name.Name
	}
	return u.Decl.Name.Name
}
