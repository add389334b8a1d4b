package answers

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// RunsOnError reports whether a release also runs where the acquire has failed with an error, past all questions for its
// outcome, as behind if err != nil { log } else if !ok { return }.
func RunsOnError(a *rediscmd.Command, release ssa.CallInstruction) bool {
	call, ok := a.Call.(*ssa.Call)
	if !ok || a.Reply == rediscmd.ReplyError {
		return false
	}
	at := registration(a, release, call.Parent())
	if at == nil || ssax.RunsBefore(at, call) {
		return false
	}
	asked := map[*ssa.BasicBlock]bool{call.Block(): true}
	for _, t := range TestsOf(a) {
		asked[t.block] = true
	}
	for _, b := range call.Parent().Blocks {
		cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok || len(asked) < 2 {
			continue
		}
		cmp, ok := cond.Cond.(*ssa.BinOp)
		if !ok || !isErrorBeside(ssax.SoleValue(cmp.X), a) {
			continue
		}
		if failed, isErr := ssax.ErrorBranch(cmp); isErr && reachesPast(b.Succs[failed], at.Block(), asked) {
			return true
		}
	}
	return false
}

// reachesPast reports whether a way leads from one block to another that avoids some.
func reachesPast(from, to *ssa.BasicBlock, avoid map[*ssa.BasicBlock]bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(b *ssa.BasicBlock) bool
	visit = func(b *ssa.BasicBlock) bool {
		if b == to {
			return true
		}
		if seen[b] || avoid[b] {
			return false
		}
		seen[b] = true
		for _, s := range b.Succs {
			if visit(s) {
				return true
			}
		}
		return false
	}
	return visit(from)
}

// isErrorBeside reports whether a value is the error that an acquire returns beside its outcome.
func isErrorBeside(v ssa.Value, a *rediscmd.Command) bool {
	ex, ok := v.(*ssa.Extract)
	if !ok || !ssax.IsError(ex.Type()) {
		return false
	}
	call, ok := ex.Tuple.(*ssa.Call)
	if !ok {
		return false
	}
	if ssa.CallInstruction(call) == a.Call {
		return a.Reply == rediscmd.ReplyResult || a.Reply == rediscmd.ReplyValue
	}
	m, ok := ssax.MethodOf(&call.Call)
	return ok && a.Reply == rediscmd.ReplyBoolCmd && m.Recv != nil && m.Recv == ssa.Value(a.Call.Value()) &&
		m.Obj.Name() == "Result"
}
