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
			if exits := failingExits(a, releases); len(exits) > 0 {
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
			!answers.Skippable(a, c.Call) && !ssax.LeavesWithError(c.Call)
	}
	if !always {
		return nil
	}
	return blocks
}

// failingExits are the returns that a function reaches with the lock held, because something has failed.
func failingExits(a *rediscmd.Command, releases map[*ssa.BasicBlock]bool) (exits []*ssa.Return) {
	for _, held := range answers.WithLock(a) {
		if held.Parent() != a.Call.Parent() {
			return nil
		}
		seen := map[*ssa.BasicBlock]bool{}
		var visit func(b *ssa.BasicBlock)
		visit = func(b *ssa.BasicBlock) {
			if seen[b] || releases[b] || b == a.Call.Block() {
				return
			}
			seen[b] = true
			if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && failed(b, held) && !slices.Contains(exits, ret) {
				exits = append(exits, ret)
			}
			for _, s := range b.Succs {
				visit(s)
			}
		}
		visit(held)
	}
	slices.SortFunc(exits, func(x, y *ssa.Return) int { return int(x.Pos() - y.Pos()) })
	return exits
}

// failed reports whether a block runs only where an error has come up since the lock was there, and nothing on the way says
// that it ends what it has begun.
func failed(b, since *ssa.BasicBlock) bool {
	for ; ; b = b.Idom() {
		for _, instr := range b.Instrs {
			if call, ok := instr.(ssa.CallInstruction); ok && endWord.MatchString(nameOf(call.Common())) {
				return false
			}
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

// endWord marks functions that may release, whatever they are given.
var endWord = regexp.MustCompile(`(?i)unlock|release|free|rollback|cleanup|undo|abort`)

func nameOf(c *ssa.CallCommon) string {
	if m, ok := ssax.MethodOf(c); ok {
		return m.Obj.Name()
	}
	return c.Value.Name()
}

func report(r *check.Reporter, acquire *ssa.Call, exits []*ssa.Return) {
	pos, end := r.CallSpan(acquire)
	more := ""
	if n := len(exits) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s is not released on every path: the return at %s, where something has failed,%s "+
			"leaves it held until it expires", r.CallText(acquire), r.Place(exits[0].Pos(), pos), more),
	}
	for _, exit := range exits {
		if exit.Pos() != token.NoPos {
			d.Related = append(d.Related, analysis.RelatedInformation{Pos: exit.Pos(), Message: "still held here"})
		}
	}
	r.ReportOnce(d)
}
