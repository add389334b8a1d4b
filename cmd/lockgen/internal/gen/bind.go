package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
)

// An annotated is a function with a directive and where it stands.
type annotated struct {
	*directive.Annotated
	folder *folder
	name   string // of the file
	file   *ast.File
	set    set
}

func (a *annotated) path() string { return filepath.Join(a.folder.dir, a.name) }

// bind binds the directives of one type-checked package.
func bind(fset *token.FileSet, found []*annotated, pkg *types.Package, info *types.Info) ([]*unit, []Problem) {
	var units []*unit
	var problems []Problem
	for _, a := range found {
		fn, bad := directive.Bind(a.Directive, directive.Target{File: a.file, Filename: a.name, Decl: a.Decl, Pkg: pkg,
			Info: info})
		problems = append(problems, fromDirective(fset, bad)...)
		u := &unit{Func: fn, folder: a.folder, file: a.file, pkg: pkg, info: info, set: a.set}
		problems = append(problems, u.limits(fset, len(bad) > 0 || len(a.Problems) > 0)...)
		resolveDot(u, &u.Locker)
		if u.Tx != nil {
			resolveDot(u, u.Tx)
		}
		units = append(units, u)
	}
	return units, problems
}

// at reports a problem of a function as a whole: its directive's first line stands for it.
func (u *unit) at(fset *token.FileSet, kind, format string, args ...any) Problem {
	return problemAt(fset, u.Directive.Pos(), u.Directive.End(), kind, format, args...)
}

// limits are the problems that a file of its own brings: what the function may name and a wrapper elsewhere may not.
func (u *unit) limits(fset *token.FileSet, others bool) []Problem {
	var problems []Problem
	for _, node := range []ast.Node{u.Decl.Recv, u.Decl.Type} {
		if node == (*ast.FieldList)(nil) {
			continue
		}
		ast.Inspect(node, func(node ast.Node) bool {
			if sel, ok := node.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && u.isCgo(x) {
					problems = append(problems, problemAt(fset, sel.Pos(), sel.End(), "cgo",
						"%s names C.%s, and C's declarations exist only in the file that includes them: give the type a Go name, such "+
							"as type size = C.size_t", u.Decl.Name.Name, sel.Sel.Name))
				}
			}
			return true
		})
	}
	switch {
	case others || !u.unresolved():
	case slices.ContainsFunc(u.folder.paths(), importsC):
		problems = append(problems, u.at(fset, "cgo",
			"the directive of %s depends on a type that could not be resolved, and types of C are known only once cgo has run: "+
				"take a parameter of a Go type such as int, and convert in the caller", u.Decl.Name.Name))
	default:
		problems = append(problems, u.at(fset, "types",
			"the directive of %s depends on a type that could not be resolved: make the package's declarations compile (go "+
				"build shows what is missing), then run lockgen again", u.Decl.Name.Name))
	}
	for _, name := range predeclared {
		if u.pkg.Scope().Lookup(name) != nil {
			problems = append(problems, u.at(fset, "scope",
				"the package declares %s itself, and generated code needs the one of the language: rename it", name))
		}
	}
	return problems
}

// importsC tells whether a file uses cgo. One that cannot be read does not.
func importsC(path string) bool {
	content, err := files.Read(path)
	if err != nil {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ImportsOnly)
	return err == nil && constraints.UsesCgo(file)
}

func (u *unit) isCgo(x *ast.Ident) bool {
	pkg, ok := u.info.Uses[x].(*types.PkgName)
	return ok && pkg.Imported().Path() == "C"
}

// unresolved tells whether something that the wrapper cannot do without stayed unknown.
func (u *unit) unresolved() bool {
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
func resolveDot(u *unit, l *directive.Source) {
	if l.From != directive.FromPackage || l.Pkg != nil || u.pkg.Scope().Lookup(l.Var) != nil {
		return
	}
	for _, spec := range u.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name == nil || spec.Name.Name != "." {
			continue
		}
		for _, pkg := range u.pkg.Imports() {
			if pkg.Path() == path && pkg.Scope().Lookup(l.Var) != nil {
				l.Pkg = pkg
			}
		}
	}
}

// clashes are names that two generated declarations of one package, or of one type, would share.
func clashes(fset *token.FileSet, units []*unit) []Problem {
	var problems []Problem
	first := map[string]*unit{}
	for _, u := range units {
		name := u.RecvType + "." + u.Name
		if other := first[name]; other != nil {
			problems = append(problems, u.at(fset, "name-clash",
				"the wrappers of %s and %s would both be called %s: choose another name with func=",
				other.Decl.Name.Name, u.Decl.Name.Name, u.Name))
			continue
		}
		first[name] = u
	}
	for _, group := range scheduled(units) {
		problems = append(problems, registerProblems(fset, group)...)
		if other := first[group[0].RecvType+"."+registerName]; other != nil {
			problems = append(problems, other.at(fset, "name-clash",
				"the wrapper of %s would be called %s like the function that registers jobs: choose another name with func=",
				other.Decl.Name.Name, registerName))
		}
	}
	return problems
}

func registerProblems(fset *token.FileSet, group []*unit) []Problem {
	var problems []Problem
	last := group[len(group)-1]
	for _, message := range jobProblems(group) {
		problems = append(problems, last.at(fset, "jobs", "%s", message))
	}
	for _, u := range group {
		if u.set.outputName(false) != group[0].set.outputName(false) {
			problems = append(problems, u.at(fset, "jobs",
				"%s and %s stand under different build constraints that hold together, so %s would be declared twice: move one "+
					"to a file under the constraint of the other",
				group[0].Decl.Name.Name, u.Decl.Name.Name, registerName))
		}
	}
	if taken(group[0]) {
		problems = append(problems, group[0].at(fset, "name-clash",
			"%s is declared already, and lockgen declares it to register jobs such as %s: rename it", registerName,
			group[0].Decl.Name.Name))
	}
	return problems
}

// taken tells whether the user's code declares RegisterJobs where the generated one would go.
func taken(u *unit) bool {
	if u.RecvType == "" {
		return u.pkg.Scope().Lookup(registerName) != nil
	}
	owner := u.pkg.Scope().Lookup(u.RecvType)
	if owner == nil {
		return false
	}
	_, index, _ := types.LookupFieldOrMethod(types.NewPointer(owner.Type()), true, u.pkg, registerName)
	return len(index) == 1
}
