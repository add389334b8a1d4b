package ssax

import "golang.org/x/tools/go/ssa"

// FollowsAttempts reports whether a call runs only once all attempts have failed: behind a loop which the function leaves
// for good where one of them has no error, as in
//
//	for range 3 {
//		if err := try(); err == nil {
//			return nil
//		}
//	}
//	rdb.Del(ctx, key)
//
// The loop comes after another call, since.
func FollowsAttempts(since, call ssa.CallInstruction) bool {
	at := call.Block()
	if call.Parent() != since.Parent() || IsDeferred(call) {
		return false
	}
	for _, head := range at.Parent().Blocks {
		if !since.Block().Dominates(head) || head.Idom() == nil || !head.Idom().Dominates(at) || !Reaches(head, at) {
			continue
		}
		loop := LoopOf(head)
		if loop[at] || loop[since.Block()] {
			continue
		}
		for b := range loop {
			cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
			if !ok {
				continue
			}
			failed, ok := ErrorBranch(cond.Cond)
			if !ok || !loop[b.Succs[failed]] {
				continue
			}
			if done := b.Succs[1-failed]; !loop[done] && done != at && !Reaches(done, at) {
				return true
			}
		}
	}
	return false
}
