package render

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// render writes RegisterJobs: the keys that are known by then first, so that an unusable one is reported before any job is
// added.
func (r *registration) render(g *jen.Group) {
	for _, line := range append(r.docLines(), "//", directive.Fingerprint{Code: openSum}.String()) {
		g.Comment(line)
	}
	fn := g.Func()
	if r.receiver != nil {
		fn.Params(jen.Id(r.receiver.recv).Add(r.receiver.expr(r.receiver.Recv.Expr)))
	}
	params := []jen.Code{jen.Id(r.scheduler).Op("*").Qual(jobsPath, "Scheduler")}
	for _, p := range r.params {
		params = append(params, jen.Id(p.name).Add(p.of.expr(p.typ)))
	}
	fn.Id(bound.RegisterName).Params(params...).Error().BlockFunc(r.body)
}

func (r *registration) docLines() []string {
	owner := "this package"
	if r.receiver != nil {
		owner = r.receiver.recv
	}
	text := wrap(bound.RegisterName + " adds the scheduled jobs of " + owner + " to " + r.scheduler +
		". Every node registers them; each tick runs on one node, under the locks of the job." + r.keysSentence())
	text += "\n"
	for _, job := range r.jobs {
		text += "\n  - " + job.JobID() + ": " + job.Directive.Cron.Value
		if tz := job.Directive.TZ; tz != nil {
			text += " in " + tz.Value
		}
	}
	return comment(text)
}

// keysSentence says what of the receiver and of the parameters is read later.
func (r *registration) keysSentence() string {
	if slices.ContainsFunc(r.jobs, (*wrapper).keysChange) {
		return " Keys that read what may change are built before each run."
	}
	return ""
}

func (r *registration) body(g *jen.Group) {
	if r.guarded {
		recv := r.receiver.recv
		g.If(jen.Id(recv).Op("==").Nil()).Block(
			jen.Return(jen.Qual(directive.RuntimePath, "NilPointer").Call(jen.Lit(recv))))
	}
	for _, job := range r.jobs {
		job.buildJobKeys(g)
	}
	if len(r.jobs) == 1 {
		g.Return(r.add(r.jobs[0]))
		return
	}
	var adds []jen.Code
	for _, job := range r.jobs {
		adds = append(adds, r.add(job))
	}
	g.Return(jen.Qual("errors", "Join").Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, adds...))
}

func (r *registration) add(job *wrapper) *jen.Statement {
	return jen.Id(r.scheduler).Dot("Add").Call(literal(jen.Qual(jobsPath, "Job"), job.jobFields(r.scheduler), 0))
}

func (w *wrapper) jobFields(scheduler string) []jen.Code {
	d := w.Directive
	var fields []jen.Code
	field := func(name string, value jen.Code) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	if d.Job != nil && d.Job.Const != nil {
		field("Name", w.constant(d.Job.Const))
	} else {
		field("Name", jen.Lit(w.JobID()))
	}
	fields = append(fields, w.fields(directive.Job)...)
	field(w.keysField())
	field("Lock", w.options())
	ctx := jen.Id(w.ctx)
	if !w.usesContext() && !w.usesLease() {
		ctx = jen.Null()
	}
	run := jen.Func().Params(ctx.Qual("context", "Context")).Error()
	field("Run", run.BlockFunc(func(g *jen.Group) { w.runJob(g, scheduler) }))
	return fields
}

// runJob calls the function itself: the scheduler holds its locks. Results other than the error are dropped.
func (w *wrapper) runJob(g *jen.Group, scheduler string) {
	w.askForKeys(g)
	call := w.callee().CallFunc(func(g *jen.Group) {
		for i, p := range w.Params {
			switch {
			case p.Role == directive.RoleContext:
				g.Id(w.ctx)
			case p.Role == directive.RoleFence:
				g.Add(w.jobLease(p.Key)).Dot("Fence").Call()
			case p.Role == directive.RoleLease:
				g.Add(w.jobLease(p.Key))
			case isLocker(p):
				g.Id(scheduler).Dot("Locker").Call()
			case p.Variadic:
				g.Id(w.params[i]).Op("...")
			default:
				g.Id(w.params[i])
			}
		}
	})
	others := len(w.resultTypes())
	switch {
	case w.AddsError && others == 0:
		g.Add(call)
		g.Return(jen.Nil())
	case w.AddsError: // go vet wants to see that the result of String is left unused on purpose
		g.List(blanks(others)...).Op("=").Add(call)
		g.Return(jen.Nil())
	case others == 0:
		g.Return(call)
	default:
		g.List(append(blanks(others), jen.Id(w.err))...).Op(":=").Add(call)
		g.Return(jen.Id(w.err))
	}
}

func blanks(n int) []jen.Code {
	var codes []jen.Code
	for range n {
		codes = append(codes, jen.Id("_"))
	}
	return codes
}
