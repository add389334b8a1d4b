package lockcheck

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll3001 = newCheck("LL3001", "result of Unlock or Extend ignored", Info, false, checkAnswers)

// checkAnswers reports calls of Unlock, Release, Extend and Refresh as statements of their own. Their answer is the
// only sign that the lock was lost while the work was done. A deferred release has nobody to tell and is silent, and so
// is an answer that is assigned to the blank identifier, which says that it is not wanted.
func checkAnswers(r *reporter) {
	for _, fn := range r.index.funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if call, ok := instr.(*ssa.Call); ok && unused(call) {
					r.checkAnswer(call)
				}
			}
		}
	}
}

func (r *reporter) checkAnswer(call *ssa.Call) {
	handle := handleOf(&call.Call)
	if handle == nil || !isPeer(handleLibrary(handle.Type())) || r.index.inTest(call.Pos()) || !r.isStatement(call) {
		return
	}
	what := "if the lock had expired, somebody else may have worked at the same time, and nobody learns of it"
	switch verbOf(&call.Call, handle) {
	case verbExtend:
		what = "if the lock could not be extended, the work goes on without it"
	case verbRelease:
		if undoesFailure(call) || inDefer(call) {
			return
		}
	default:
		return
	}
	pos, end := r.callSpan(call)
	r.report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the result of %s is ignored: %s; check it, or assign it to _ to say that it does not matter",
			r.callText(call), what),
	})
}

// isStatement reports whether a call is a statement of its own.
func (r *reporter) isStatement(call *ssa.Call) bool {
	x := r.index.callExpr(call)
	if x == nil {
		return false
	}
	path := r.pathTo(x)
	if len(path) < 2 {
		return false
	}
	_, ok := path[1].(*ast.ExprStmt)
	return ok
}

// inDefer reports whether a call stands in a literal that is deferred.
func inDefer(call ssa.CallInstruction) bool {
	for lit := call.Parent(); lit.Parent() != nil; lit = lit.Parent() {
		if deferOf(call, lit.Parent()) != nil {
			return true
		}
	}
	return false
}
