// Package program is the package that is looked at: its SSA form, its syntax, which of its functions never return, and
// what its interfaces hide.
package program

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/ssa"
)

// InTest reports whether a position lies in a _test.go file: tests delete keys to start afresh.
func (ix *Package) InTest(pos token.Pos) bool {
	return strings.HasSuffix(filepath.Base(ix.Pass.Fset.Position(pos).Filename), "_test.go")
}

// A Package is the package that is looked at, with its SSA form.
type Package struct {
	Pass  *analysis.Pass
	Pkg   *ssa.Package    // nil if the package does not touch a client
	Funcs []*ssa.Function // declared functions and function literals, in source order
	// Shipped are the Funcs outside of tests. What tests hand in and store says nothing of what the program does.
	Shipped []*ssa.Function

	Impls   map[*types.Func]*types.Func // what implementation has found
	Carrier bool                        // the package has facts

	syntaxOnce sync.Once // the checks run in parallel
	syntax     *inspector.Inspector
}

// HasCarriers reports whether some package that this one imports, even through others, has facts, or this one has before
// it is looked at: then somebody knows what stands behind its interfaces.
func (p *Package) HasCarriers() bool {
	return slices.ContainsFunc(p.Pass.AllPackageFacts(), func(f analysis.PackageFact) bool {
		_, ok := f.Fact.(*Carrier)
		return ok
	})
}

// BuildSSA builds the package's SSA form. buildssa.Analyzer would do it for every package, before anybody knows
// whether it is needed.
func (p *Package) BuildSSA() {
	pass := p.Pass
	prog := ssa.NewProgram(pass.Fset, 0)
	prog.SetNoReturn(p.NoReturn())
	for _, imp := range pass.Pkg.Imports() {
		prog.CreatePackage(imp, nil, nil, true)
	}
	pkg := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	pkg.Build()
	for _, file := range pass.Files {
		for _, decl := range file.Decls {
			fd, isFunc := decl.(*ast.FuncDecl)
			if !isFunc {
				continue
			}
			if obj, isObj := pass.TypesInfo.Defs[fd.Name].(*types.Func); isObj {
				p.addFunc(prog.FuncValue(obj))
			}
		}
	}
	p.Pkg = pkg
}

func (p *Package) addFunc(fn *ssa.Function) {
	if fn == nil {
		return
	}
	p.Funcs = append(p.Funcs, fn)
	if !p.InTest(fn.Pos()) {
		p.Shipped = append(p.Shipped, fn)
	}
	for _, lit := range fn.AnonFuncs {
		p.addFunc(lit)
	}
}

// Syntax is the root of the package's syntax trees.
func (p *Package) Syntax() inspector.Cursor {
	p.syntaxOnce.Do(func() { p.syntax = inspector.New(p.Pass.Files) })
	return p.syntax.Root()
}

// CallExpr returns the syntax of a call, nil if there is none.
func (p *Package) CallExpr(call ssa.CallInstruction) *ast.CallExpr {
	lparen := call.Common().Pos()
	if !lparen.IsValid() {
		return nil
	}
	cur, ok := p.Syntax().FindByPos(lparen, lparen)
	if !ok {
		return nil
	}
	for c := range cur.Enclosing((*ast.CallExpr)(nil)) {
		if x := c.Node().(*ast.CallExpr); x.Lparen == lparen {
			return x
		}
	}
	return nil
}
