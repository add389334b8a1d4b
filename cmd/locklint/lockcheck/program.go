package lockcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// A program is the package that is looked at, with its SSA form.
type program struct {
	pass  *analysis.Pass
	pkg   *ssa.Package    // nil if the package does not touch a client
	funcs []*ssa.Function // declared functions and function literals, in source order

	impls   map[*types.Func]*types.Func // what implementation has found
	carrier bool                        // the package has facts

	callsOnce sync.Once // the checks run in parallel
	calls     map[token.Pos]*ast.CallExpr
}

// hasCarriers reports whether some package that this one imports, even through others, has facts.
func (p *program) hasCarriers() bool {
	return slices.ContainsFunc(p.pass.AllPackageFacts(), func(f analysis.PackageFact) bool {
		_, ok := f.Fact.(*carrierFact)
		return ok && f.Package != p.pass.Pkg
	})
}

// buildSSA builds the package's SSA form. buildssa.Analyzer would do it for every package, before anybody knows
// whether it is needed.
func (p *program) buildSSA() {
	pass := p.pass
	prog := ssa.NewProgram(pass.Fset, 0)
	prog.SetNoReturn(p.noReturn())
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
	p.pkg = pkg
}

func (p *program) addFunc(fn *ssa.Function) {
	if fn == nil {
		return
	}
	p.funcs = append(p.funcs, fn)
	for _, lit := range fn.AnonFuncs {
		p.addFunc(lit)
	}
}

// callExpr returns the syntax of a call, nil if there is none.
func (p *program) callExpr(call ssa.CallInstruction) *ast.CallExpr {
	p.callsOnce.Do(func() {
		p.calls = map[token.Pos]*ast.CallExpr{}
		for _, file := range p.pass.Files {
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					p.calls[c.Lparen] = c
				}
				return true
			})
		}
	})
	return p.calls[call.Common().Pos()]
}
