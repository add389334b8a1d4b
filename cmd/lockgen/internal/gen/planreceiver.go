package gen

import (
	"go/ast"
	"maps"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// nameReceiver chooses whose receiver RegisterJobs repeats: that of the first job, but a pointer if any job needs one.
func (r *registration) nameReceiver(local names) {
	for _, job := range r.jobs {
		if job.Recv == nil {
			return
		}
		if _, pointer := ast.Unparen(job.Recv.Expr).(*ast.StarExpr); pointer || r.receiver == nil {
			if r.receiver == nil || !isPointer(r.receiver.Recv.Expr) {
				r.receiver = job
			}
		}
	}
	recv := r.receiver.Recv.Name
	if recv == "" {
		recv = r.receiver.usualReceiver()
	}
	recv = local.param(recv)
	pointer := isPointer(r.receiver.Recv.Expr)
	for _, job := range r.jobs {
		job.recv, job.recvPointer = recv, pointer
		if pointer && !isPointer(job.Recv.Expr) {
			job.copied = "value"
		}
		r.guarded = r.guarded || pointer && (job.copied != "" || job.keyNeedsReceiver())
	}
	for _, job := range r.jobs {
		job.recvChecked = r.guarded
	}
	r.nameTypeParams(local)
}

// usualReceiver is a name for a receiver that has none: that of other methods, else the first letter of the type.
func (u *unit) usualReceiver() string {
	if u.siblings != "" {
		return u.siblings
	}
	return string([]rune(lowerFirst(u.RecvType))[:1])
}

// nameTypeParams names the type parameters of the receiver: as the jobs do if they agree, else anew.
func (r *registration) nameTypeParams(local names) {
	taken := maps.Clone(local)
	for _, job := range r.jobs {
		taken.reserve(plainNames(job.Decl.Type, job.unit.info)...)
	}
	chosen := directive.ReceiverTypeParams(r.receiver.Recv.Expr)
	for i := range chosen {
		for _, job := range r.jobs {
			name := directive.ReceiverTypeParams(job.Recv.Expr)[i]
			if name != chosen[i] || slices.ContainsFunc(r.jobs, func(job *wrapper) bool { return job.needs(name) }) {
				chosen[i] = taken.claim("T")
				local.reserve(chosen[i])
				break
			}
		}
	}
	for _, job := range r.jobs {
		for i, name := range directive.ReceiverTypeParams(job.Recv.Expr) {
			if name != "_" {
				job.renamed[name] = chosen[i]
			}
		}
	}
	r.recvType = withTypeArgs(r.receiver.Recv.Expr, chosen)
}

// withTypeArgs is a receiver's type with other names for its type parameters.
func withTypeArgs(e ast.Expr, args []string) ast.Expr {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return &ast.StarExpr{X: withTypeArgs(e.X, args)}
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: e.X, Index: ast.NewIdent(args[0])}
	case *ast.IndexListExpr:
		list := &ast.IndexListExpr{X: e.X}
		for _, arg := range args {
			list.Indices = append(list.Indices, ast.NewIdent(arg))
		}
		return list
	}
	return e
}

func isPointer(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.StarExpr)
	return ok
}
