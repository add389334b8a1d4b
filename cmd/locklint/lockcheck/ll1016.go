package lockcheck

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/internal/cronspec"
	"golang.org/x/tools/go/analysis"
)

var ll1016 = newCheck("LL1016",
	"cron spec that never fires, duplicate job name, fixed time inside a DST gap of its zone", Error, false,
	checkJobs).syntactic()

// A jobSite is a job as the source states it, in a directive or as a jobs.Job that is written out. Empty is unknown.
type jobSite struct {
	name, spec, zone string
	pos, end         token.Pos // of the spec
	namePos          token.Pos
}

// checkJobs looks at the jobs of a package, those of its tests apart. A spec that cannot be read at all is LL1005's in
// a directive.
func checkJobs(r *reporter) {
	var list []jobSite
	for _, file := range r.pass.Files {
		name := r.pass.Fset.Position(file.Package).Filename
		if r.isOutput(file) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		list = append(list, r.directiveJobs(file)...)
		list = append(list, r.writtenJobs(file)...)
	}
	names := map[string]token.Pos{}
	for _, j := range list {
		if j.spec != "" {
			r.checkGap(j)
		}
		if j.name == "" {
			continue
		}
		if first, ok := names[j.name]; ok {
			r.report(analysis.Diagnostic{
				Pos: j.namePos,
				Message: fmt.Sprintf("the name %q belongs to the job at %s already: a scheduler refuses the second, and two "+
					"schedulers would share its ticks; give it a name of its own", j.name, r.place(first, j.namePos)),
				Related: []analysis.RelatedInformation{{Pos: first, Message: "the first job of this name"}},
			})
			continue
		}
		names[j.name] = j.namePos
	}
}

// directiveJobs are the jobs of a file's directives. What never fires is reported on the way.
func (r *reporter) directiveJobs(file *ast.File) []jobSite {
	if !mentionsDirective(file) {
		return nil
	}
	var list []jobSite
	for _, a := range directive.Find(file).Funcs {
		_, more := directive.Bind(a.Directive, r.target(file, a.Decl))
		for _, p := range append(a.Problems, more...) {
			if neverFires(p) {
				r.report(analysis.Diagnostic{Pos: p.Pos, End: p.End, Message: p.Message})
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

// neverFires reports whether a problem of a directive is this check's: the spec can be read, and means no day at all.
func neverFires(p directive.Problem) bool {
	return p.Slug == "cron" && strings.Contains(p.Message, "it never fires")
}

// writtenJobs are the literals of type jobs.Job with a constant spec.
func (r *reporter) writtenJobs(file *ast.File) []jobSite {
	var list []jobSite
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || !isJob(r.pass.TypesInfo.TypeOf(lit)) {
			return true
		}
		j := jobSite{pos: lit.Pos(), end: lit.End(), namePos: lit.Pos()}
		for _, el := range lit.Elts {
			kv, ok := el.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := kv.Key.(*ast.Ident)
			tv := r.pass.TypesInfo.Types[kv.Value]
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
				r.report(analysis.Diagnostic{Pos: j.pos, End: j.end, Message: fmt.Sprintf("the scheduler will refuse this job: "+
					"%v", err)})
			}
		}
		list = append(list, j)
		return true
	})
	return list
}

// isJob reports whether a type is jobs.Job.
func isJob(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Job" && n.Obj().Pkg() != nil && withoutVendor(n.Obj().Pkg().Path()) == jobsPath
}

// checkGap warns of a time of day that the clocks of its zone skip once a year.
func (r *reporter) checkGap(j jobSite) {
	gap, ok := gapOf(j.spec, j.zone)
	if !ok {
		return
	}
	r.reportAs(Warning, analysis.Diagnostic{
		Pos: j.pos, End: j.end,
		Message: fmt.Sprintf("the clocks of %s skip %s on %s, when they go from %s to %s: that run comes at %s; choose a "+
			"time outside of the gap, or UTC",
			j.zone, gap.due.Format("15:04"), gap.due.Format("2006-01-02"), gap.from.Format("15:04"), gap.to.Format("15:04"),
			gap.to.Format("15:04")),
	})
}
