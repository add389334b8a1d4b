package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// An annotated is a function with a directive and where it stands.
type annotated struct {
	*directive.Annotated
	folder *Folder
	name   string // of the file
	file   *ast.File
	set    output.Set
}

func (a *annotated) path() string { return filepath.Join(a.folder.Dir, a.name) }

// bind binds the directives of one type-checked package.
func bind(
	sources *decls.Sources, found []*annotated, pkg *types.Package, info *types.Info,
) ([]*bound.Func, []problem.Problem) {
	fset := sources.Fset
	var units []*bound.Func
	var problems []problem.Problem
	for _, a := range found {
		fn, bad := directive.Bind(a.Directive, directive.Target{File: a.file, Filename: a.name, Decl: a.Decl, Pkg: pkg,
			Info: info})
		problems = append(problems, problem.FromDirective(fset, bad)...)
		u := &bound.Func{Func: fn, Dir: a.folder.Dir, File: a.file, Pkg: pkg, Info: info, Set: a.set}
		problems = append(problems, limits(u, a.folder, sources, len(bad) > 0 || len(a.Problems) > 0)...)
		resolveDot(u, &u.Locker)
		if u.Tx != nil {
			resolveDot(u, u.Tx)
		}
		units = append(units, u)
	}
	return units, problems
}

// limits are the problems that a file of its own brings: what the function may name and a wrapper elsewhere may not.
func limits(u *bound.Func, in *Folder, sources *decls.Sources, others bool) []problem.Problem {
	fset := sources.Fset
	var problems []problem.Problem
	for _, node := range []ast.Node{u.Decl.Recv, u.Decl.Type} {
		if node == (*ast.FieldList)(nil) {
			continue
		}
		ast.Inspect(node, func(node ast.Node) bool {
			if sel, ok := node.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && isCgo(u, x) {
					problems = append(problems, problem.At(fset, sel.Pos(), sel.End(), "cgo",
						"%s names C.%s, and C's declarations exist only in the file that includes them: give the type a Go name, such "+
							"as type size = C.size_t", u.Decl.Name.Name, sel.Sel.Name))
				}
			}
			return true
		})
	}
	switch {
	case others || !unresolved(u):
	case readsC(u, in, sources):
		problems = append(problems, u.At(fset, "cgo",
			"the directive of %s depends on a type that could not be resolved, and types of C are known only once cgo has run: "+
				"take a parameter of a Go type such as int, and convert in the caller", u.Decl.Name.Name))
	default:
		problems = append(problems, u.At(fset, "types",
			"the directive of %s depends on a type that could not be resolved: make the package's declarations compile (go "+
				"build shows what is missing), then run lockgen again", u.Decl.Name.Name))
	}
	for _, name := range bound.Predeclared {
		if u.Pkg.Scope().Lookup(name) != nil {
			problems = append(problems, u.At(fset, "scope",
				"the package declares %s itself, and generated code needs the one of the language: rename it", name))
		}
	}
	return problems
}

func isCgo(u *bound.Func, x *ast.Ident) bool {
	pkg, ok := u.Info.Uses[x].(*types.PkgName)
	return ok && pkg.Imported().Path() == "C"
}

// unresolved tells whether something that the wrapper cannot do without stayed unknown.
func unresolved(u *bound.Func) bool {
	for _, key := range u.Keys {
		for _, part := range key.Parts {
			if part.Hole != nil && part.Value == nil {
				return true
			}
		}
	}
	for _, ref := range u.Directive.Constants() {
		if ref.Object == nil {
			return true
		}
	}
	return u.Recv != nil && u.Recv.Type == nil
}

// resolveDot finds the package of a path that names a variable through a dot import.
func resolveDot(u *bound.Func, l *directive.Source) {
	if l.From != directive.FromPackage || l.Pkg != nil || u.Pkg.Scope().Lookup(l.Var) != nil {
		return
	}
	for _, spec := range u.File.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name == nil || spec.Name.Name != "." {
			continue
		}
		for _, pkg := range u.Pkg.Imports() {
			if pkg.Path() == path && pkg.Scope().Lookup(l.Var) != nil {
				l.Pkg = pkg
			}
		}
	}
}

// clashes are names that two generated declarations of one package, or of one type, would share.
func clashes(fset *token.FileSet, units []*bound.Func) []problem.Problem {
	var problems []problem.Problem
	first := map[string]*bound.Func{}
	for _, u := range units {
		name := u.RecvType + "." + u.Name
		if other := first[name]; other != nil {
			problems = append(problems, u.At(fset, "name-clash",
				"the wrappers of %s and %s would both be called %s: choose another name with func=",
				other.Decl.Name.Name, u.Decl.Name.Name, u.Name))
			continue
		}
		first[name] = u
	}
	for _, group := range bound.Scheduled(units) {
		problems = append(problems, registerProblems(fset, group)...)
		if other := first[group[0].RecvType+"."+bound.RegisterName]; other != nil {
			problems = append(problems, other.At(fset, "name-clash",
				"the wrapper of %s would be called %s like the function that registers jobs: choose another name with func=",
				other.Decl.Name.Name, bound.RegisterName))
		}
	}
	return problems
}

func registerProblems(fset *token.FileSet, group []*bound.Func) []problem.Problem {
	var problems []problem.Problem
	last := group[len(group)-1]
	for _, message := range jobProblems(group) {
		problems = append(problems, last.At(fset, "jobs", "%s", message))
	}
	for _, u := range group {
		if u.Set.FileName(false) != group[0].Set.FileName(false) {
			problems = append(problems, u.At(fset, "jobs",
				"%s and %s stand under different build constraints that hold together, so %s would be declared twice: move one "+
					"to a file under the constraint of the other",
				group[0].Decl.Name.Name, u.Decl.Name.Name, bound.RegisterName))
		}
	}
	if taken(group[0]) {
		problems = append(problems, group[0].At(fset, "name-clash",
			"%s is declared already, and lockgen declares it to register jobs such as %s: rename it", bound.RegisterName,
			group[0].Decl.Name.Name))
	}
	return problems
}

// taken tells whether the user's code declares RegisterJobs where the generated one would go.
func taken(u *bound.Func) bool {
	if u.RecvType == "" {
		return u.Pkg.Scope().Lookup(bound.RegisterName) != nil
	}
	owner := u.Pkg.Scope().Lookup(u.RecvType)
	if owner == nil {
		return false
	}
	_, index, _ := types.LookupFieldOrMethod(types.NewPointer(owner.Type()), true, u.Pkg, bound.RegisterName)
	return len(index) == 1
}
