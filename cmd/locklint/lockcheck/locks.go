package lockcheck

import (
	"path/filepath"
	"strings"

	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A lock is an acquire and a release that play their roles on one key. Everything that LL2 reports starts here:
// SETNX by itself is mostly de-duplication, throttling or a cache, and stays silent.
type lock struct {
	acquire *command
	release *command // opDelete or opCompareDel
}

// findLocks pairs the acquires of the package with its releases.
func (ix *index) findLocks() {
	var acquires, releases []*command
	for _, fn := range ix.funcs {
		for _, c := range ix.commands[fn] {
			switch {
			case !c.key.known():
			case c.op == opAcquire:
				acquires = append(acquires, c)
			case c.op == opDelete || c.op == opCompareDel:
				releases = append(releases, c)
			}
		}
	}
	for _, a := range acquires {
		for _, r := range releases {
			if ix.isLock(a, r) {
				ix.locks = append(ix.locks, &lock{a, r})
			}
		}
	}
}

// isLock is the gate. It decides by the strongest evidence there is:
//
//   - in one function: the same key is acquired and, later, deleted other than to undo a failure;
//   - in two functions whose names pair up on one type, such as Lock and Unlock: the keys have the same shape, be it
//     only "the argument";
//   - in two other functions of the package: the keys have the same, distinctive shape, and the key says that it is
//     a lock. Without that word it might as well be a cache entry and its invalidation.
func (ix *index) isLock(a, r *command) bool {
	if a.call == r.call || a.judged && r.judged {
		return false
	}
	if a.fn == r.fn {
		return a.key.String() == r.key.String() && comesAfter(a.call, r.call) && !undoesFailure(r.call)
	}
	if a.key.shape() != r.key.shape() || ix.inTest(r.pos()) || isForced(r.fn) {
		return false
	}
	if namesPair(a.fn, r.fn) {
		return true
	}
	return a.key.distinctive() && speaksOfLock(a.key) && !undoesFailure(r.call)
}

// inTest reports whether a position lies in a _test.go file: tests delete keys to start afresh.
func (ix *index) inTest(pos token.Pos) bool {
	return strings.HasSuffix(filepath.Base(ix.pass.Fset.Position(pos).Filename), "_test.go")
}

// comesAfter reports whether second can run after first. Across function literals it is taken for granted: they run
// when their function says, mostly at its end.
func comesAfter(first, second ssa.CallInstruction) bool {
	if first.Parent() != second.Parent() {
		return true
	}
	if _, ok := second.(*ssa.Defer); ok {
		return true
	}
	from, to := first.Block(), second.Block()
	if from == to && indexIn(from, first) < indexIn(to, second) {
		return true
	}
	seen := map[*ssa.BasicBlock]bool{}
	var reaches func(b *ssa.BasicBlock) bool
	reaches = func(b *ssa.BasicBlock) bool {
		for _, s := range b.Succs {
			if s == to {
				return true
			}
			if !seen[s] {
				seen[s] = true
				if reaches(s) {
					return true
				}
			}
		}
		return false
	}
	return reaches(from)
}

func indexIn(b *ssa.BasicBlock, instr ssa.Instruction) int {
	for i, in := range b.Instrs {
		if in == instr {
			return i
		}
	}
	return -1
}

// undoesFailure reports whether a call runs only after some error: then deleting the key lets a failed operation be
// repeated, which is how idempotency keys are used.
func undoesFailure(call ssa.CallInstruction) bool {
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		if len(b.Preds) != 1 || b.Preds[0] != b.Idom() {
			continue
		}
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if failed, ok := errorBranch(cond.Cond); ok && b.Idom().Succs[failed] == b && b.Idom().Succs[0] != b.Idom().Succs[1] {
			return true
		}
	}
	return false
}

// errorBranch returns which successor is taken when the condition finds an error: 0 for err != nil, 1 for err == nil.
func errorBranch(cond ssa.Value) (int, bool) {
	b, ok := cond.(*ssa.BinOp)
	if !ok || !isError(b.X.Type()) || b.Op != token.NEQ && b.Op != token.EQL {
		return 0, false
	}
	if !isNilConst(b.X) && !isNilConst(b.Y) {
		return 0, false
	}
	if b.Op == token.NEQ {
		return 0, true
	}
	return 1, true
}

func isNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}
