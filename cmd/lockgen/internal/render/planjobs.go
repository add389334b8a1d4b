package render

import (
	"go/ast"
	"go/types"
	"maps"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// A registration is one RegisterJobs.
type registration struct {
	receiver  *wrapper // whose receiver is repeated; nil for the package's
	guarded   bool     // a nil receiver is refused: keys or jobs with a value receiver read what it points to
	scheduler string
	jobs      []*wrapper
	params    []*jobParam
}

// A jobParam is a parameter of RegisterJobs: what the jobs take besides context, lease and locker.
type jobParam struct {
	name, called string // by RegisterJobs, and by the functions
	typ          ast.Expr
	of           *wrapper   // whose file typ stands in
	shared       bool       // by all jobs that take a parameter of that name and type
	resolved     types.Type // nil if it is not known
}

// addJobImports notes what the registrations mention besides what wrappers do.
func addJobImports(im *imports, functions []*function) {
	for _, group := range bound.Scheduled(functions) {
		im.add(jobsPath, "jobs", "")
		if len(group) > 1 {
			im.add("errors", "errors", "")
		}
		for _, f := range group {
			f.addSettings(im, true)
		}
	}
}

// planJobs names everything in the RegisterJobs functions of a file. All jobs of one share its scope.
func planJobs(functions []*function, im *imports) []*registration {
	var all []*registration
	for _, group := range bound.Scheduled(functions) {
		r := &registration{}
		local := names{}
		for _, name := range im.name {
			local.reserve(name)
		}
		for _, f := range group {
			local.reserve(f.bodyNames()...)
			local.reserve(f.constNames(true)...)
			r.jobs = append(r.jobs, &wrapper{function: f,
				copier: copier{info: f.Info, local: f.Pkg, renamed: map[string]string{}}, parts: map[*directive.BoundPart]string{}})
		}
		r.nameReceiver(local)
		r.nameParams(local)
		r.scheduler = local.claim("s", "scheduler")
		for _, job := range r.jobs {
			job.nameJob(local, len(r.jobs) > 1)
		}
		for _, job := range r.jobs {
			job.nameLater(local)
		}
		all = append(all, r)
	}
	return all
}

// nameParams names the parameters of RegisterJobs. Jobs that call the same dependency alike share it. A value is each
// job's own: two jobs that take an id rarely mean the same one.
func (r *registration) nameParams(local names) {
	uses := map[string]int{}
	for _, job := range r.jobs {
		for _, p := range job.Params {
			if job.passed(p) {
				uses[p.Name]++
			}
		}
	}
	for _, job := range r.jobs {
		job.params = make([]string, len(job.Params))
		for i, p := range job.Params {
			if job.passed(p) {
				job.params[i] = r.param(job, i, uses[p.Name] > 1, local)
			}
		}
	}
}

// param is the name of a job's parameter. It adds the parameter unless another job shares it.
func (r *registration) param(job *wrapper, i int, several bool, local names) string {
	p := job.Params[i]
	t := p.Type
	shared := several && p.Name != "" && isDependency(t)
	if shared {
		for _, other := range r.params {
			if other.called == p.Name && other.shared && types.Identical(other.resolved, t) {
				return other.name
			}
		}
	}
	name := p.Name
	switch {
	case name == "":
		name = lowerFirst(job.shortName()) + "Arg" + itoa(i+1)
	case several && !shared:
		name = lowerFirst(job.shortName()) + titled(name)
	}
	param := &jobParam{name: local.param(name), called: p.Name, typ: p.Expr, of: job, shared: shared, resolved: t}
	if p.Variadic {
		param.typ = &ast.ArrayType{Elt: p.Expr}
	}
	r.params = append(r.params, param)
	return param.name
}

// titled is a parameter's name behind another word.
func titled(name string) string {
	if name == "id" {
		return "ID"
	}
	return upperFirst(name)
}

// passed tells whether a job's parameter is one that RegisterJobs takes.
func (w *wrapper) passed(p *directive.Param) bool {
	return p.Role == directive.RoleOrdinary && !isLocker(p)
}

// isDependency tells whether a parameter stands for something that lives elsewhere, such as a database or a client.
func isDependency(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Signature, *types.Chan, *types.Map:
		return true
	}
	return false
}

// isLocker tells whether a parameter takes a locker: jobs get the scheduler's.
func isLocker(p *directive.Param) bool {
	pointer, ok := types.Unalias(p.Type).(*types.Pointer)
	if !ok || p.Type == nil {
		return false
	}
	named, ok := types.Unalias(pointer.Elem()).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == directive.RuntimePath &&
		named.Obj().Name() == "Locker"
}

// shortName is the function's name without the suffix that says that the lock is held.
func (f *function) shortName() string {
	if short, ok := strings.CutSuffix(f.Decl.Name.Name, "Locked"); ok && short != "" {
		return short
	}
	return f.Decl.Name.Name
}

// nameJob names a job's locals in RegisterJobs. Where several jobs share the function, keys carry the job's name.
func (w *wrapper) nameJob(local names, several bool) {
	w.ctx, w.err = "ctx", "err"
	if !local.free("ctx") {
		w.ctx = "jobCtx"
	}
	if !local.free("err") {
		w.err = "jobErr"
	}
	short := lowerFirst(w.shortName())
	if w.keysChange() {
		if len(w.Keys) > 1 && w.usesLease() {
			w.keysFunc = local.local(short + "Keys")
		}
		return
	}
	name := "key"
	if several {
		name = short + "Key"
	}
	w.nameKeys(local, name)
}

// nameLater names the locals of the function that builds the keys of a job, which no other function sees.
func (w *wrapper) nameLater(local names) {
	if !w.keysChange() {
		return
	}
	local = maps.Clone(local)
	w.nameKeys(local, "key")
	if w.copied != "" {
		w.copied = local.local(w.copied)
	}
	if w.keysFunc != "" {
		w.keysVar, w.keyVar = local.local("keys"), local.local("key")
	}
}

func (w *wrapper) nameKeys(local names, name string) {
	for i, key := range w.Keys {
		if len(w.Keys) > 1 {
			w.keys = append(w.keys, local.local(name+itoa(i+1)))
		} else {
			w.keys = append(w.keys, local.local(name))
		}
		w.nameParts(local, key)
	}
}
