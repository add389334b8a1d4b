// Package ll2010 is the check LL2010; see doc.md.
package ll2010

import (
	_ "embed"
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL2010.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkLoops})

// checkLoops reports loops, and functions that call themselves, that ask for a lock again and again without waiting.
func checkLoops(r *check.Reporter) {
	wanted := map[*rediscmd.Command]bool{}
	for _, l := range append(r.Index.Locks[:len(r.Index.Locks):len(r.Index.Locks)], r.Index.Counters...) {
		wanted[l.Acquire] = true
	}
	done := map[ssa.CallInstruction]bool{}
	for _, fn := range r.Index.Funcs {
		for _, c := range r.Index.Commands[fn] {
			if c.Op != ops.Acquire && c.Op != ops.Count || !wanted[c] && !locks.Responsible(c).Judged && !c.Judged {
				continue
			}
			if done[c.Call] || c.Waits || c.Pipe != rediscmd.Direct || r.Index.InTest(c.Pos()) ||
				!spins(r.Index, c) && !spinsRecursively(r.Index, c) {
				continue
			}
			done[c.Call] = true
			pos, end := r.Span(c)
			r.ReportOnce(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s is tried again at once when somebody else has the lock: the loop keeps a core and the "+
					"server busy until the lock is free; wait between two tries, longer each time and with some chance in it",
					c.What()),
			})
		}
	}
}

// spins reports whether an acquire is repeated in a loop in which nothing waits, for the same key, until it succeeds.
func spins(ix *index.Index, c *rediscmd.Command) bool {
	loop := roundsOf(c.Call.Block())
	if len(loop) == 0 || !leavesLoop(loop, c) || boundedLoop(loop) || !sameKeyIn(loop, c.Key) {
		return false
	}
	for b := range loop {
		for _, instr := range b.Instrs {
			if instr != ssa.Instruction(c.Call) && ix.InstrMayWait(instr) {
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
		ssax.Reach(s, nil, from)
	}
	if !from[b] {
		return nil
	}
	loop := map[*ssa.BasicBlock]bool{}
	for x := range from {
		to := map[*ssa.BasicBlock]bool{}
		ssax.Reach(x, nil, to)
		if to[b] {
			loop[x] = true
		}
	}
	return loop
}

// leavesLoop reports whether the outcome of an acquire decides about another round: without the lock there is one.
func leavesLoop(loop map[*ssa.BasicBlock]bool, c *rediscmd.Command) bool {
	for b := range loop {
		cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
		if ok && (!loop[b.Succs[0]] || !loop[b.Succs[1]]) && answers.DependsOn(cond.Cond, c) &&
			!againOnError(loop, cond, c) && againWithout(loop, cond, c) {
			return true
		}
	}
	return false
}

// againWithout reports whether there may be another round behind a condition without the lock, and not only with it, as in
// a loop that works off one batch after another, each under the lock.
func againWithout(loop map[*ssa.BasicBlock]bool, cond *ssa.If, c *rediscmd.Command) bool {
	succs := cond.Block().Succs
	if got, ok := answers.SuccessBranch(cond.Cond, c); ok {
		return loop[succs[1-got]]
	}
	if failed, ok := ssax.ErrorBranch(cond.Cond); ok {
		return loop[succs[failed]]
	}
	other, ok := cond.Cond.(*ssa.Extract)
	return !ok || other.Tuple != ssa.Value(c.Call.Value()) // that says something else
}

// againOnError reports whether there is another round only where the command itself has failed, whose error says nothing
// about who has the lock.
func againOnError(loop map[*ssa.BasicBlock]bool, cond *ssa.If, c *rediscmd.Command) bool {
	failed, isErr := ssax.ErrorBranch(cond.Cond)
	return isErr && !loop[cond.Block().Succs[1-failed]] &&
		(c.Reply == rediscmd.ReplyBoolCmd || c.Reply == rediscmd.ReplyMessage)
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
			if n := ssax.IntOf(v); n >= 0 && n <= fewTries {
				return true
			}
		}
	}
	return false
}

// sameKeyIn reports whether a key is the same in every round: a loop over many keys takes each of them once.
func sameKeyIn(loop map[*ssa.BasicBlock]bool, key keyexpr.Expr) bool {
	changing := map[string]bool{}
	for b := range loop {
		for _, instr := range b.Instrs {
			if v, ok := instr.(ssa.Value); ok {
				changing[keyexpr.OfLocal(v).Text] = true
			}
			if st, ok := instr.(*ssa.Store); ok {
				changing[keyexpr.OfLocal(ssax.CellOf(st.Addr)).Text] = true
			}
		}
	}
	return !key.Any(func(k keyexpr.Expr) bool {
		return k.Op == keyexpr.Local && changing[k.Text] || k.Op == keyexpr.Each && k.Text == ""
	})
}

// spinsRecursively reports whether the function of an acquire calls itself for the same key when it fails, and waits
// nowhere.
func spinsRecursively(ix *index.Index, c *rediscmd.Command) bool {
	if c.Fn != c.Call.Parent() || ix.MayWait(c.Fn) {
		return false
	}
	for _, b := range c.Fn.Blocks {
		for _, instr := range b.Instrs {
			again, ok := instr.(*ssa.Call)
			if !ok || again.Call.StaticCallee() != c.Fn || !ssax.ComesAfter(c.Call, again) {
				continue
			}
			var args []keyexpr.Expr
			for _, a := range again.Call.Args {
				args = append(args, keyexpr.Of(a))
			}
			if c.Key.Bind(args).String() == c.Key.String() && answers.WhenHeld(c, again) == answers.OnlyLost {
				return true
			}
		}
	}
	return false
}
