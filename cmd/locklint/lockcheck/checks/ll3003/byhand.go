package ll3003

import (
	"fmt"
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportByHand reports the same of locks by hand: a function acquires one and releases it by a plain call, and returns
// before that where something fails.
func reportByHand(r *check.Reporter) {
	for _, fn := range r.Index.Funcs {
		if ssax.IsMain(fn) || fn.Parent() != nil {
			continue
		}
		for _, a := range r.Index.Commands[fn] {
			call, ok := a.Call.(*ssa.Call)
			if !ok || a.Op != ops.Acquire || a.Pipe != rediscmd.Direct || a.Ended || a.Leased || !a.Key.Known() ||
				!locks.Speaks(a) || r.Index.InTest(a.Pos()) {
				continue
			}
			releases := plainReleases(r, a)
			if releases == nil {
				continue
			}
			if exits := failingExits(r, a, releases); len(exits) > 0 {
				report(r, call, exits)
			}
		}
	}
}

// plainReleases are the blocks of a function in which it releases what it has acquired. Nil if it does so in another way,
// too, or only where something has failed.
func plainReleases(r *check.Reporter, a *rediscmd.Command) map[*ssa.BasicBlock]bool {
	blocks, always := map[*ssa.BasicBlock]bool{}, false
	for _, c := range r.Index.Commands[a.Fn] {
		if !c.Op.Releases() || c.Key.String() != a.Key.String() {
			continue
		}
		if _, plain := c.Call.(*ssa.Call); !plain || c.Call.Parent() != a.Call.Parent() {
			return nil
		}
		blocks[c.Call.Block()] = true
		always = always || ssax.ComesAfter(a.Call, c.Call) && !ssax.UndoesFailureSince(a.Call, c.Call) &&
			!answers.Skippable(a, c.Call) && (!ssax.LeavesWithError(c.Call) || ssax.GoesOn(c.Call))
	}
	if !always {
		return nil
	}
	return blocks
}

// An exit is where a function leaves what it does under a lock, or the round of a loop that does it, because something
// has failed.
type exit struct {
	at    token.Pos
	again bool // the next round begins, and may acquire again
}

// failingExits are those that a function reaches with the lock held: where the outcome is asked for again, as behind a loop
// whose flag says it, the lock is there.
func failingExits(r *check.Reporter, a *rediscmd.Command, releases map[*ssa.BasicBlock]bool) (exits []exit) {
	refused, lost := answers.WithoutLock(a), foundLost(r, a)
	for _, held := range answers.WithLock(a) {
		if held.Parent() != a.Call.Parent() {
			return nil
		}
		add := func(e exit) {
			if !slices.Contains(exits, e) {
				exits = append(exits, e)
			}
		}
		seen := map[*ssa.BasicBlock]bool{}
		var visit func(b *ssa.BasicBlock)
		visit = func(b *ssa.BasicBlock) {
			if seen[b] || releases[b] {
				return
			}
			seen[b] = true
			last := b.Instrs[len(b.Instrs)-1]
			if ret, ok := last.(*ssa.Return); ok && (failed(b, held) || leavesWithError(b) && !ends(b, held)) {
				add(exit{at: ret.Pos()})
			}
			for i, s := range b.Succs {
				if refused(b, s) || lost(b, s) || ruledOut(b, i, a.Call.Block()) {
					continue
				}
				if s != a.Call.Block() && !s.Dominates(a.Call.Block()) {
					visit(s)
					continue
				}
				if branch, ok := last.(*ssa.If); failed(b, held) || ok && failsInto(branch, i) && !ends(b, held) {
					add(exit{lastPos(b), true})
				}
			}
		}
		visit(held)
	}
	slices.SortFunc(exits, func(x, y exit) int { return int(x.at - y.at) })
	return exits
}

// leavesWithError reports whether a block returns an error that is certainly there, such as that of a context that is over.
func leavesWithError(b *ssa.BasicBlock) bool {
	if ssax.ReturnsNewError(b) {
		return true
	}
	ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) == 0 {
		return false
	}
	call, ok := ssax.Returned(ret, len(ret.Results)-1).(*ssa.Call)
	if !ok || call.Block() != b {
		return false
	}
	if m, ok := ssax.MethodOf(&call.Call); ok && m.Recv != nil {
		return m.Obj.Name() == "Err" && ssax.IsContext(m.Recv.Type())
	}
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Object() != nil && ssax.CalleeName(fn) == "context.Cause"
}

// failsInto reports whether a branch goes on to its i-th successor where there is an error.
func failsInto(branch *ssa.If, i int) bool {
	on, ok := ssax.ErrorBranch(branch.Cond)
	return ok && on == i
}

// lastPos is where the source of a block ends, as far as that is known.
func lastPos(b *ssa.BasicBlock) token.Pos {
	for _, instr := range slices.Backward(b.Instrs) {
		if branch, ok := instr.(*ssa.If); ok && branch.Cond.Pos() != token.NoPos {
			return branch.Cond.Pos()
		}
		if instr.Pos() != token.NoPos {
			return instr.Pos()
		}
	}
	return token.NoPos
}

// failed reports whether a block runs only where an error has come up since the lock was there, and nothing on the way says
// that it ends what it has begun.
func failed(b, since *ssa.BasicBlock) bool {
	for ; ; b = b.Idom() {
		if saysEnd(b) {
			return false
		}
		from := b.Idom()
		if b == since || from == nil || !since.Dominates(from) {
			return false
		}
		branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		if i, ok := ssax.ErrorBranch(branch.Cond); ok && from.Succs[i] == b {
			return true
		}
	}
}

// ends reports whether something on the way from where the lock was there to a block says that it ends what it has begun.
func ends(b, since *ssa.BasicBlock) bool {
	for ; b != nil && since.Dominates(b); b = b.Idom() {
		if saysEnd(b) {
			return true
		}
	}
	return false
}

// saysEnd reports whether a block calls something that by its name may release.
func saysEnd(b *ssa.BasicBlock) bool {
	return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
		call, ok := instr.(ssa.CallInstruction)
		return ok && endWord.MatchString(nameOf(call.Common()))
	})
}

// endWord marks functions that may release, whatever they are given.
var endWord = regexp.MustCompile(`(?i)unlock|release|free|rollback|cleanup|undo|abort`)

func nameOf(c *ssa.CallCommon) string {
	if m, ok := ssax.MethodOf(c); ok {
		return m.Obj.Name()
	}
	return c.Value.Name()
}

func report(r *check.Reporter, acquire *ssa.Call, exits []exit) {
	pos, end := r.CallSpan(acquire)
	more := ""
	if n := len(exits) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	what := "return"
	if exits[0].again {
		what = "next round of the loop behind the check"
	}
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s is not released on every path: the %s at %s, where something has failed,%s "+
			"leaves it held until it expires", r.CallText(acquire), what, r.Place(exits[0].at, pos), more),
	}
	for _, exit := range exits {
		if exit.at != token.NoPos {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: exit.at, Message: "still held here"})
		}
	}
	r.ReportOnce(d)
}
