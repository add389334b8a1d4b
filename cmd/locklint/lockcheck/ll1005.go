package lockcheck

import (
	"go/ast"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"golang.org/x/tools/go/analysis"
)

var ll1005 = newCheck("LL1005", "bad //lock: directive", Error, true, checkDirectives).syntactic()

// checkDirectives reports what the generator would refuse, with the generator's own parser. It works without type
// information as far as it goes: where wrappers are missing the package does not compile, and a bad directive is the
// likely reason.
func checkDirectives(r *reporter) {
	for _, file := range r.pass.Files {
		if r.isOutput(file) || !mentionsDirective(file) {
			continue
		}
		found := directive.Find(file)
		r.problems(found.Problems)
		for _, a := range found.Funcs {
			r.problems(a.Problems)
			_, problems := directive.Bind(a.Directive, r.target(file, a.Decl))
			r.problems(problems)
		}
	}
}

// target describes the function to the directive package.
func (r *reporter) target(file *ast.File, decl *ast.FuncDecl) directive.Target {
	return directive.Target{
		File: file, Filename: r.pass.Fset.PositionFor(file.Pos(), false).Filename, Decl: decl, Pkg: r.pass.Pkg, Info: r.pass.TypesInfo,
		Generated: r.isOutputAt,
	}
}

func (r *reporter) problems(list []directive.Problem) {
	for _, p := range list {
		if neverFires(p) {
			continue // LL1016
		}
		d := analysis.Diagnostic{Pos: p.Pos, End: p.End, Message: p.Message}
		if p.Fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{{
				Message:   p.Fix.Message,
				TextEdits: []analysis.TextEdit{{Pos: p.Fix.Pos, End: p.Fix.End, NewText: []byte(p.Fix.Text)}},
			}}
		}
		r.report(d)
	}
}
