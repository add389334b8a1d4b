package answers

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows counters with a limit: those who count up to it are in, the others are not.

// WithinLimit returns which successor is for those within the limit: 0 for if n <= limit, 1 for if n > limit. A
// comparison that singles out the first who counts is none of a limit, nor is one with less than that.
func WithinLimit(cond ssa.Value, c *rediscmd.Command) (int, bool) {
	if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
		within, ok := WithinLimit(not.X, c)
		return 1 - within, ok
	}
	v, ok := cond.(*ssa.BinOp)
	if !ok || ssax.IsError(v.X.Type()) {
		return 0, false
	}
	count, limit, op := v.X, v.Y, v.Op
	if !DependsOn(count, c) {
		count, limit, op = limit, count, mirrored[op]
	}
	if !DependsOn(count, c) || DependsOn(limit, c) {
		return 0, false
	}
	if value, ok := ssax.ConstOf(limit); ok {
		text := value.ExactString()
		if _, first := successOfCount(op, value); first || text == "0" || text == "1" {
			return 0, false
		}
	}
	switch op {
	case token.LEQ, token.LSS:
		return 0, true
	case token.GTR, token.GEQ:
		return 1, true
	}
	return 0, false
}

// HasLimit reports whether the function of a counter compares the count with a limit, or returns such a comparison.
func HasLimit(c *rediscmd.Command) bool {
	if len(testsOf(c, WithinLimit)) > 0 {
		return true
	}
	for _, b := range c.Fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for _, v := range ret.Results {
			if _, ok := WithinLimit(v, c); ok {
				return true
			}
		}
	}
	return false
}

// WhenWithin says on which ways a call runs that stands in the function of a counter with a limit.
func WhenWithin(c *rediscmd.Command, call ssa.CallInstruction) way {
	return whenHeld(c, call, testsOf(c, WithinLimit))
}
