package gen

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// registerName is what registers the scheduled jobs of a package, or of a type as its method.
const registerName = "RegisterJobs"

// A registration is one RegisterJobs.
type registration struct {
	receiver  *wrapper // whose receiver is repeated; nil for the package's
	recvType  ast.Expr // with the type parameters as they are named here
	scheduler string
	jobs      []*wrapper
	params    []*jobParam
}

// A jobParam is a parameter of RegisterJobs: what the jobs take besides context, lease and locker.
type jobParam struct {
	name string // as the functions call it, then as RegisterJobs does
	typ  ast.Expr
	of   *wrapper // whose file typ stands in
}

// owner is the receiver type that a unit's job is registered by, "" for the package.
func (u *unit) owner() string { return u.RecvType }

// scheduled are the units with cron=, by owner: first the package's, then those of each type in alphabetical order.
func scheduled(units []*unit) [][]*unit {
	byOwner := map[string][]*unit{}
	var owners []string
	for _, u := range units {
		if u.Directive.Cron == nil {
			continue
		}
		if byOwner[u.owner()] == nil {
			owners = append(owners, u.owner())
		}
		byOwner[u.owner()] = append(byOwner[u.owner()], u)
	}
	slices.Sort(owners)
	var groups [][]*unit
	for _, owner := range owners {
		groups = append(groups, byOwner[owner])
	}
	return groups
}

// addJobImports notes what the registrations mention besides what wrappers do.
func addJobImports(im *imports, units []*unit) {
	for _, group := range scheduled(units) {
		im.add(jobsPath, "jobs", "")
		if len(group) > 1 {
			im.add("errors", "errors", "")
		}
		for _, u := range group {
			d := u.Directive
			for _, text := range []*directive.String{d.Cron, d.TZ, d.Job} {
				if text != nil {
					u.addConst(im, text.Const)
				}
			}
			if d.Retries != nil {
				u.addConst(im, d.Retries.Const)
			}
			u.addDurations(im, d.Timeout, d.Jitter)
		}
	}
}

// planJobs names everything in the RegisterJobs functions of a file. All jobs of one share its scope.
func planJobs(units []*unit, im *imports) []*registration {
	var all []*registration
	for _, group := range scheduled(units) {
		r := &registration{}
		local := names{}
		for _, name := range im.name {
			local.reserve(name)
		}
		for _, u := range group {
			local.reserve(u.bodyNames()...)
			local.reserve(constNames(u.Directive)...)
			r.jobs = append(r.jobs, &wrapper{unit: u, copier: copier{info: u.info, local: u.pkg, renamed: map[string]string{}},
				parts: map[*directive.BoundPart]string{}})
		}
		r.nameReceiver(local)
		r.nameParams(local)
		r.scheduler = local.claim("s", "scheduler")
		for _, job := range r.jobs {
			job.nameJob(local, len(r.jobs) > 1)
		}
		all = append(all, r)
	}
	return all
}

func constNames(d *directive.Directive) []string {
	var found []string
	for _, text := range []*directive.String{d.Cron, d.TZ, d.Job} {
		if text != nil && text.Const != nil {
			found = append(found, text.Const.Name)
		}
	}
	if d.Retries != nil && d.Retries.Const != nil {
		found = append(found, d.Retries.Const.Name)
	}
	for _, duration := range []*directive.Duration{d.Timeout, d.Jitter} {
		if duration != nil && duration.Const != nil {
			found = append(found, duration.Const.Name)
		}
	}
	return found
}

// nameParams merges the jobs' parameters by name.
func (r *registration) nameParams(local names) {
	byName := map[string]*jobParam{}
	for _, job := range r.jobs {
		job.params = make([]string, len(job.Params))
		for i, p := range job.Params {
			if !job.passed(p) {
				continue
			}
			name := p.Name
			if name == "" {
				name = job.shortName() + "Arg" + itoa(i+1)
			}
			param := byName[name]
			if param == nil {
				param = &jobParam{name: local.param(name), typ: p.Expr, of: job}
				if p.Variadic {
					param.typ = &ast.ArrayType{Elt: p.Expr}
				}
				byName[name] = param
				r.params = append(r.params, param)
			}
			job.params[i] = param.name
		}
	}
}

// passed tells whether a job's parameter is one that RegisterJobs takes.
func (w *wrapper) passed(p *directive.Param) bool {
	return p.Role == directive.RoleOrdinary && !isLocker(p)
}

// isLocker tells whether a parameter takes a locker: jobs get the scheduler's.
func isLocker(p *directive.Param) bool {
	pointer, ok := types.Unalias(p.Type).(*types.Pointer)
	if !ok || p.Type == nil {
		return false
	}
	named, ok := types.Unalias(pointer.Elem()).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == runtimePath && named.Obj().Name() == "Locker"
}

// shortName is the function's name without the suffix that says that the lock is held.
func (u *unit) shortName() string {
	if short, ok := strings.CutSuffix(u.Decl.Name.Name, "Locked"); ok && short != "" {
		return short
	}
	return u.Decl.Name.Name
}

// nameJob names a job's locals. Where several jobs share the function, keys carry the job's name.
func (w *wrapper) nameJob(local names, several bool) {
	w.ctx, w.err = "ctx", "err"
	if !local.free("ctx") {
		w.ctx = "jobCtx"
	}
	if !local.free("err") {
		w.err = "jobErr"
	}
	for i, key := range w.Keys {
		name := "key"
		if several {
			name = lowerFirst(w.shortName()) + "Key"
		}
		if len(w.Keys) > 1 {
			name += itoa(i + 1)
		}
		w.keys = append(w.keys, local.local(name))
		w.nameParts(local, key)
	}
}
