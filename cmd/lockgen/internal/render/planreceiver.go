package render

import "go/ast"

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
}

// usualReceiver is a name for a receiver that has none: that of other methods, else the first letter of the type.
func (f *function) usualReceiver() string {
	if f.siblings != "" {
		return f.siblings
	}
	return string([]rune(lowerFirst(f.RecvType))[:1])
}

func isPointer(e ast.Expr) bool {
	_, ok := ast.Unparen(e).(*ast.StarExpr)
	return ok
}
