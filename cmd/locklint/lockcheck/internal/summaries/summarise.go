package summaries

import (
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file makes the summary of a function out of its commands.

// summarise keeps what a caller can use: commands on keys made of parameters, constants and package variables.
func (ix *Info) summarise(fn *ssa.Function, cmds []*rediscmd.Command) []Command {
	var out []Command
	outcomes := map[string]int{} // see errorOf
	for _, c := range cmds {
		if !c.Key.Portable() || c.Op.Releases() && ssax.IsReturned(c.Call.Parent()) {
			continue // what the caller runs is the caller's
		}
		s := Command{
			Op: c.Op, Name: c.Name, Key: c.Key, Value: c.Value, TTL: c.TTL, Unit: c.Unit, Pipe: c.Pipe,
			Compares: c.Compares || asks(fn, c, cmds), Ended: c.Ended || endedBy(c, cmds) || counts(c),
			Guarded: c.Guarded || onlyIfSet(c),
			Leased:  c.Leased || leases(c, cmds),
			HandsOn: handsOn(c, cmds),
			Forced:  c.Forced || forceWord.MatchString(fn.Name()), Waits: ix.MayWait(fn), Judged: c.Judged, Outcome: -1,
			Detached: c.Detached || !passesContext(fn, c),
			origin:   c,
		}
		if c.Op == ops.Acquire {
			if s.Outcome = answers.OutcomeResult(fn, c); s.Outcome >= 0 && answers.EndsHeld(c) {
				s.Outcome = -1 // it is always the same
			} else if s.Outcome < 0 {
				s.Outcome = errorOf(fn, c, cmds, outcomes)
				s.ByError = s.Outcome >= 0
			}
		}
		if !s.TTL.Portable() {
			s.TTL = keyexpr.Expr{}
		}
		if !s.Value.Portable() {
			s.Value = keyexpr.Expr{}
		}
		if !containsCommand(out, s) {
			out = append(out, s)
		}
	}
	if len(out) > maxSummary {
		return nil
	}
	return out
}

// errorOf is answers.OutcomeError of all tries for a lock, worked out once for each key.
func errorOf(fn *ssa.Function, c *rediscmd.Command, cmds []*rediscmd.Command, known map[string]int) int {
	key := c.Key.String()
	at, ok := known[key]
	if !ok {
		at = answers.OutcomeError(fn, triesOf(c, cmds))
		known[key] = at
	}
	return at
}

// triesOf are the commands of a function that take the same lock as one of them does.
func triesOf(c *rediscmd.Command, cmds []*rediscmd.Command) (tries []*rediscmd.Command) {
	for _, other := range cmds {
		if other.Op == ops.Acquire && other.Key.String() == c.Key.String() {
			tries = append(tries, other)
		}
	}
	return tries
}

// asks reports whether a function reads a key to compare its owner, and not because it takes the lock itself.
func asks(fn *ssa.Function, read *rediscmd.Command, cmds []*rediscmd.Command) bool {
	return read.Op == ops.Read && answers.Compares(fn, read) &&
		!slices.ContainsFunc(cmds, func(c *rediscmd.Command) bool {
			return (c.Op == ops.Acquire || c.Op == ops.Count) && c.Key.String() == read.Key.String()
		})
}

// counts reports whether an acquire is queued in a pipeline and nobody reads whether it has succeeded: it only starts
// a counter.
func counts(c *rediscmd.Command) bool {
	return c.Op == ops.Acquire && c.Pipe != rediscmd.Direct && answers.ReachesNobody(c)
}

// passesContext reports whether a function issues a command with the context that it is given itself.
func passesContext(fn *ssa.Function, c *rediscmd.Command) bool {
	ctx := ssax.ContextOf(c.Call.Common())
	if ctx == nil {
		return false
	}
	p, ok := ssax.SoleValue(ctx).(*ssa.Parameter)
	return ok && p.Parent() == fn
}

// onlyIfSet reports whether a command runs only where a flag or a text in the receiver says so, as the flag that an
// acquire has set when it had succeeded.
func onlyIfSet(c *rediscmd.Command) bool {
	for b := c.Call.Block(); b.Idom() != nil; b = b.Idom() {
		cond, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		asked := cond.Cond
		switch v := asked.(type) {
		case *ssa.UnOp:
			if v.Op == token.NOT {
				asked = v.X
			}
		case *ssa.BinOp:
			asked = v.X
		}
		if _, isResult := asked.(*ssa.Extract); isResult || !ssax.IsBool(asked.Type()) && !ssax.IsString(asked.Type()) {
			continue
		}
		k := keyexpr.Of(asked)
		if k.Op == keyexpr.Field && k.Args[0].Op == keyexpr.Param && k.Args[0].Text == "0" {
			return true
		}
	}
	return false
}

// forceWord marks functions that remove a lock whoever owns it.
var forceWord = regexp.MustCompile(`(?i)force`)

// endedBy reports whether a function that issues some commands takes the key of one of them and ends it again: it is
// done with the key, and what its callers do with the same key is another story.
func endedBy(c *rediscmd.Command, cmds []*rediscmd.Command) bool {
	return slices.ContainsFunc(cmds, func(other *rediscmd.Command) bool {
		if other.Call == c.Call || other.Key.String() != c.Key.String() || ssax.IsReturned(other.Call.Parent()) {
			return false
		}
		switch c.Op {
		case ops.Acquire, ops.Count:
			return other.Op.Releases() && ssax.ComesAfter(c.Call, other.Call) && !ssax.UndoesFailureSince(c.Call, other.Call)
		case ops.Delete, ops.CompareDel, ops.Uncount:
			return other.Op == ops.Acquire || other.Op == ops.Count
		}
		return false
	})
}

func containsCommand(list []Command, s Command) bool {
	for _, o := range list {
		if o.Op == s.Op && o.Name == s.Name && o.Judged == s.Judged && o.Key.String() == s.Key.String() {
			return true
		}
	}
	return false
}
