// Package ll3001 is the check LL3001; see doc.md.
package ll3001

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3001.
var Check = check.New(check.Spec{Page: page, Severity: check.Info, Run: checkAnswers})

// checkAnswers reports calls of Unlock, Release, Extend and Refresh as statements of their own. Their answer is the
// only sign that the lock was lost while the work was done. A deferred release has nobody to tell and is silent, and so
// is an answer that is assigned to the blank identifier, which says that it is not wanted.
func checkAnswers(r *check.Reporter) {
	for _, fn := range r.Index.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && ssax.Unused(call) {
					checkAnswer(r, call)
				}
			}
		}
	}
}

func checkAnswer(r *check.Reporter, call *ssa.Call) {
	handle := handles.Of(&call.Call)
	if handle == nil || !clients.IsPeer(handles.Library(handle.Type())) || r.Index.InTest(call.Pos()) ||
		!isStatement(r, call) {
		return
	}
	what := "if the lock had expired, somebody else may have worked at the same time, and nobody learns of it"
	switch handles.VerbOf(&call.Call, handle) {
	case handles.VerbExtend:
		what = "if the lock could not be extended, the work goes on without it"
	case handles.VerbRelease:
		if ssax.LeavesOnFailure(call) || ssax.MakesError(call) || inDefer(call) {
			return
		}
	default:
		return
	}
	pos, end := r.CallSpan(call)
	r.Report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the result of %s is ignored: %s; check it, or assign it to _ to say that it does not matter",
			r.CallText(call), what),
	})
}

// isStatement reports whether a call is a statement of its own.
func isStatement(r *check.Reporter, call *ssa.Call) bool {
	x := r.Index.CallExpr(call)
	if x == nil {
		return false
	}
	cur, ok := r.Index.Syntax().FindNode(x)
	return ok && cur.ParentEdgeKind() == edge.ExprStmt_X
}

// inDefer reports whether a call stands in a literal that is deferred, or that only runs deferred.
func inDefer(call ssa.CallInstruction) bool {
	for lit := call.Parent(); lit.Parent() != nil; lit = lit.Parent() {
		if ssax.DeferOf(call, lit.Parent()) != nil || nobodyTold(lit) {
			return true
		}
	}
	return false
}
