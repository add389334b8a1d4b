package lockcheck

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll2010 = newCheck("LL2010", "acquire loop without back-off", Warning, false, checkLoops)

// checkLoops reports loops, and functions that call themselves, that ask for a lock again and again without waiting.
func checkLoops(r *reporter) {
	wanted := map[*command]bool{}
	for _, l := range append(r.index.locks[:len(r.index.locks):len(r.index.locks)], r.index.counters...) {
		wanted[l.acquire] = true
	}
	done := map[ssa.CallInstruction]bool{}
	for _, fn := range r.index.funcs {
		for _, c := range r.index.commands[fn] {
			if c.op != opAcquire && c.op != opCount || !wanted[c] && !c.root().judged && !c.judged {
				continue
			}
			if done[c.call] || c.waits || c.pipe != direct || r.index.inTest(c.pos()) ||
				!r.index.spins(c) && !r.index.spinsRecursively(c) {
				continue
			}
			done[c.call] = true
			pos, end := r.span(c)
			r.report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s is tried again at once when somebody else has the lock: the loop keeps a core and the "+
					"server busy until the lock is free; wait between two tries, longer each time and with some chance in it",
					c.what()),
			})
		}
	}
}

// spins reports whether an acquire is repeated in a loop in which nothing waits, for the same key, until it succeeds.
func (ix *index) spins(c *command) bool {
	loop := roundsOf(c.call.Block())
	if len(loop) == 0 || !leavesLoop(loop, c) || boundedLoop(loop) || !sameKeyIn(loop, c.key) {
		return false
	}
	for b := range loop {
		for _, instr := range b.Instrs {
			if instr != ssa.Instruction(c.call) && ix.instrMayWait(instr) {
				return false
			}
		}
	}
	return true
}

// roundsOf returns the blocks on the ways from a block back to itself, nil if there is none.
func roundsOf(b *ssa.BasicBlock) map[*ssa.BasicBlock]bool {
	from := map[*ssa.BasicBlock]bool{}
	for _, s := range b.Succs {
		reach(s, nil, from)
	}
	if !from[b] {
		return nil
	}
	loop := map[*ssa.BasicBlock]bool{}
	for x := range from {
		to := map[*ssa.BasicBlock]bool{}
		reach(x, nil, to)
		if to[b] {
			loop[x] = true
		}
	}
	return loop
}

// leavesLoop reports whether the outcome of an acquire decides about another round: without the lock there is one.
func leavesLoop(loop map[*ssa.BasicBlock]bool, c *command) bool {
	for b := range loop {
		cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if ok && (!loop[b.Succs[0]] || !loop[b.Succs[1]]) && dependsOn(cond.Cond, c, 0) {
			return true
		}
	}
	return false
}

// fewTries is how many tries in a row are no harm.
const fewTries = 10

// boundedLoop reports whether a loop counts to a small constant.
func boundedLoop(loop map[*ssa.BasicBlock]bool) bool {
	for b := range loop {
		cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		cmp, ok := cond.Cond.(*ssa.BinOp)
		if !ok || cmp.Op == token.EQL || cmp.Op == token.NEQ {
			continue
		}
		for _, v := range []ssa.Value{cmp.X, cmp.Y} {
			if n := intOf(v); n >= 0 && n <= fewTries {
				return true
			}
		}
	}
	return false
}

// sameKeyIn reports whether a key is the same in every round: a loop over many keys takes each of them once.
func sameKeyIn(loop map[*ssa.BasicBlock]bool, key keyExpr) bool {
	changing := map[string]bool{}
	for b := range loop {
		for _, instr := range b.Instrs {
			if v, ok := instr.(ssa.Value); ok {
				changing[localKey(v).Text] = true
			}
			if st, ok := instr.(*ssa.Store); ok {
				changing[localKey(cellOf(st.Addr)).Text] = true
			}
		}
	}
	return !key.any(func(k keyExpr) bool { return k.Op == keyLocal && changing[k.Text] })
}

// spinsRecursively reports whether the function of an acquire calls itself for the same key when it fails, and waits
// nowhere.
func (ix *index) spinsRecursively(c *command) bool {
	if c.fn != c.call.Parent() || ix.mayWait(c.fn) {
		return false
	}
	for _, b := range c.fn.Blocks {
		for _, instr := range b.Instrs {
			again, ok := instr.(*ssa.Call)
			if !ok || again.Call.StaticCallee() != c.fn || !comesAfter(c.call, again) {
				continue
			}
			var args []keyExpr
			for _, a := range again.Call.Args {
				args = append(args, keyOf(a))
			}
			if c.key.bind(args).String() == c.key.String() && whenHeld(c, again) == onlyLost {
				return true
			}
		}
	}
	return false
}
