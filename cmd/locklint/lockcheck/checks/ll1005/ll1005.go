// Package ll1005 is the check LL1005; see doc.md.
package ll1005

import (
	_ "embed"
	"path/filepath"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
)

//go:embed doc.md
var page string

// Check is LL1005.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Fixable: true, Syntactic: true,
	Run: checkDirectives})

// checkDirectives reports what the generator would refuse, with the generator's own parser. It works without type
// information as far as it goes: where wrappers are missing the package does not compile, and a bad directive is the
// likely reason.
func checkDirectives(r *check.Reporter) {
	for _, found := range r.Directives() {
		reportAll(r, found.Problems)
		name := filepath.Base(r.Pass.Fset.PositionFor(found.File.Package, false).Filename)
		for _, d := range found.Defaults {
			reportAll(r, d.Place(name, found.File))
		}
		for _, a := range found.Funcs {
			reportAll(r, a.Problems)
			_, problems := directive.Bind(a.Directive, r.Target(found.File, a.Decl))
			reportAll(r, problems)
		}
	}
}

func reportAll(r *check.Reporter, list []directive.Problem) {
	for _, p := range list {
		if guards.NeverFires(p) {
			continue // LL1016
		}
		d := analysis.Diagnostic{Pos: p.Pos, End: p.End, Message: p.Message}
		if p.Fix != nil {
			d.SuggestedFixes = []analysis.SuggestedFix{{
				Message:   p.Fix.Message,
				TextEdits: []analysis.TextEdit{{Pos: p.Fix.Pos, End: p.Fix.End, NewText: []byte(p.Fix.Text)}},
			}}
		}
		r.Report(d)
	}
}
