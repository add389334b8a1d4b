// Package ll1016 is the check LL1016; see doc.md.
package ll1016

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/internal/cronspec"
)

//go:embed doc.md
var page string

// Check is LL1016.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Syntactic: true, Run: checkJobs})

// A jobSite is a job as the source states it, in a directive or as a jobs.Job that is written out. Empty is unknown.
type jobSite struct {
	name, spec, zone string
	pos, end         token.Pos // of the spec
	namePos          token.Pos
}

// checkJobs looks at the jobs of a package, those of its tests apart. A spec that cannot be read at all is LL1005's in
// a directive.
func checkJobs(r *check.Reporter) {
	var list []jobSite
	found := map[*ast.File]*directive.Found{}
	for _, f := range r.Directives() {
		found[f.File] = f.Found
	}
	for _, file := range r.Pass.Files {
		name := r.Pass.Fset.Position(file.Package).Filename
		if r.IsOutput(file) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if f := found[file]; f != nil {
			list = append(list, directiveJobs(r, file, f)...)
		}
		list = append(list, writtenJobs(r, file)...)
	}
	names := map[string]token.Pos{}
	for _, j := range list {
		if j.spec != "" {
			checkGap(r, j)
		}
		if j.name == "" {
			continue
		}
		if first, ok := names[j.name]; ok {
			r.Report(analysis.Diagnostic{
				Pos: j.namePos,
				Message: fmt.Sprintf("the name %q belongs to the job at %s already: a scheduler refuses the second, and two "+
					"schedulers would share its ticks; give it a name of its own", j.name, r.Place(first, j.namePos)),
				Related: []analysis.RelatedInformation{{Pos: first, Message: "the first job of this name"}},
			})
			continue
		}
		names[j.name] = j.namePos
	}
}

// directiveJobs are the jobs of a file's directives. What never fires is reported on the way.
func directiveJobs(r *check.Reporter, file *ast.File, found *directive.Found) []jobSite {
	var list []jobSite
	for _, a := range found.Funcs {
		_, more := directive.Bind(a.Directive, r.Target(file, a.Decl))
		for _, p := range append(a.Problems, more...) {
			if guards.NeverFires(p) {
				r.Report(analysis.Diagnostic{Pos: p.Pos, End: p.End, Message: p.Message})
			}
		}
		d := a.Directive
		if d.Cron == nil {
			continue
		}
		j := jobSite{spec: d.Cron.Value, pos: d.Cron.Pos, end: d.Cron.End, namePos: d.Cron.Pos}
		if d.TZ != nil {
			j.zone = d.TZ.Value
		}
		if d.Job != nil {
			j.name, j.namePos = d.Job.Value, d.Job.Pos
		}
		list = append(list, j)
	}
	return list
}

// writtenJobs are the literals of type jobs.Job with a constant spec.
func writtenJobs(r *check.Reporter, file *ast.File) []jobSite {
	var list []jobSite
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || !clients.IsJob(r.Pass.TypesInfo.TypeOf(lit)) {
			return true
		}
		j := jobSite{pos: lit.Pos(), end: lit.End(), namePos: lit.Pos()}
		for _, el := range lit.Elts {
			kv, ok := el.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := kv.Key.(*ast.Ident)
			tv := r.Pass.TypesInfo.Types[kv.Value]
			if !ok || tv.Value == nil || tv.Value.Kind() != constant.String {
				continue
			}
			switch text := constant.StringVal(tv.Value); key.Name {
			case "Name":
				j.name, j.namePos = text, kv.Value.Pos()
			case "Spec":
				j.spec, j.pos, j.end = text, kv.Value.Pos(), kv.Value.End()
			case "TZ":
				j.zone = text
			}
		}
		if j.spec != "" {
			if _, err := cronspec.Parse(j.spec, j.zone); err != nil && !strings.Contains(err.Error(), "zone") {
				r.Report(analysis.Diagnostic{Pos: j.pos, End: j.end, Message: fmt.Sprintf("the scheduler will refuse this job: "+
					"%v", err)})
			}
		}
		list = append(list, j)
		return true
	})
	return list
}

// checkGap warns of a time of day that the clocks of its zone skip once a year.
func checkGap(r *check.Reporter, j jobSite) {
	gap, ok := gapOf(j.spec, j.zone)
	if !ok {
		return
	}
	r.ReportAs(check.Warning, analysis.Diagnostic{
		Pos: j.pos, End: j.end,
		Message: fmt.Sprintf("the clocks of %s skip %s on %s, when they go from %s to %s: that run comes at %s; choose a "+
			"time outside of the gap, or UTC",
			j.zone, gap.due.Format("15:04"), gap.due.Format("2006-01-02"), gap.from.Format("15:04"), gap.to.Format("15:04"),
			gap.to.Format("15:04")),
	})
}
