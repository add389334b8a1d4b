// Package ll1004 is the check LL1004; see doc.md.
package ll1004

import (
	_ "embed"
	"fmt"
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

//go:embed doc.md
var page string

// Check is LL1004.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Syntactic: true, Run: checkGenerated})

// runLockgen is how every message ends.
const runLockgen = "run lockgen (go generate)"

// checkGenerated compares the fingerprints in lockgen's files with what the directives ask for. It sees the files of this
// build: a directive and its wrapper stand under the same constraint, so both are there or neither. Doc comments, which
// lockgen copies, are not compared.
func checkGenerated(r *check.Reporter) {
	g := readGenerated(r)
	if g == nil {
		return
	}
	for _, found := range r.Directives() {
		g.broken = append(g.broken, found.Problems...)
		for _, a := range found.Funcs {
			fn, problems := directive.Bind(a.Directive, r.Target(found.File, a.Decl))
			w := g.wrapperOf(fn)
			if w != nil {
				w.taken = true
			}
			if handWritten := g.people[member{ownerOf(fn.Decl), fn.Name}] != nil; handWritten { // LL1005's
				continue
			}
			if len(problems)+len(a.Problems) == 0 {
				g.compare(r, fn, w)
			}
		}
	}
	for _, d := range g.all {
		switch {
		case d.made.Func == "":
			g.checkJobs(r, d)
		case !d.taken:
			g.reportOrphan(r, d)
		}
	}
}

// compare reports what is missing or stale of one function.
func (g *generatedCode) compare(r *check.Reporter, fn *directive.Func, w *declaration) {
	d := fn.Directive
	if w == nil {
		r.Report(analysis.Diagnostic{Pos: d.Pos(), End: d.End(), Message: fmt.Sprintf(
			"generated code is missing: %s has no wrapper %s; %s", fn.Decl.Name.Name, fn.Name, runLockgen)})
		return
	}
	s := &staleness{r: r, fn: fn, wrapper: w}
	s.compare()
	if d.Cron != nil && !g.registers && len(s.list) == 0 {
		s.add(d.Cron.Arg, "%s registers no job", w.file)
	}
	s.report()
}

// checkJobs reports a RegisterJobs that is not as lockgen wrote it. What it was made from is compared with the wrappers of
// its jobs.
func (g *generatedCode) checkJobs(r *check.Reporter, d *declaration) {
	if d.made.Code != directive.CodeSum(r.Pass.Fset, d.decl) {
		r.ReportAnywhere(analysis.Diagnostic{Pos: d.decl.Name.Pos(), End: d.decl.Name.End(), Message: fmt.Sprintf(
			"generated code is stale: %s in %s has been changed by hand; %s", d.decl.Name.Name, d.file, runLockgen)})
	}
}

// reportOrphan reports a wrapper whose function has no directive: at that function, where the directive was, else where
// the wrapper is. A comment that should have been a directive is LL1005's.
func (g *generatedCode) reportOrphan(r *check.Reporter, w *declaration) {
	d := analysis.Diagnostic{Pos: w.decl.Name.Pos(), End: w.decl.Name.End()}
	gone := "which does not exist any more; " + runLockgen
	if body := g.people[member{ownerOf(w.decl), w.made.Func}]; body != nil {
		if slices.ContainsFunc(g.broken, func(b directive.Problem) bool {
			return body.Doc != nil && body.Doc.Pos() <= b.Pos && b.Pos <= body.Doc.End()
		}) {
			return
		}
		d = analysis.Diagnostic{Pos: body.Name.Pos(), End: body.Name.End(),
			Related: []analysis.RelatedInformation{{Pos: w.decl.Name.Pos(), Message: "called by this wrapper"}}}
		gone = "which has no //lock: directive; " + runLockgen + ", or put the directive back"
	}
	d.Message = fmt.Sprintf("generated code is orphaned: %s in %s runs %s, %s", w.decl.Name.Name, w.file, w.made.Func, gone)
	r.ReportAnywhere(d)
}

// ownerOf is the name of a method's type, "" for functions.
func ownerOf(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 {
		return ""
	}
	return directive.ReceiverBase(fd.Recv.List[0].Type)
}
