package answers

import (
	"go/constant"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file tells the two ways apart on which a function goes on after it has asked for a lock.

// A way says on which of the ways a call runs.
type way uint8

const (
	unknownWay way = iota
	OnlyHeld       // only with the lock
	OnlyLost       // only without
	EitherWay      // with and without it
)

// An outcomeTest is a branch on the outcome of an acquire.
type outcomeTest struct {
	block *ssa.BasicBlock
	got   int // which successor is taken by whoever has got the lock
}

func (t outcomeTest) taken() *ssa.BasicBlock { return t.block.Succs[t.got] }

func (t outcomeTest) lost() *ssa.BasicBlock { return t.block.Succs[1-t.got] }

// TestsOf finds the branches on the outcome of an acquire, in its function and in the literals inside.
func TestsOf(c *rediscmd.Command) []outcomeTest { return testsOf(c, SuccessBranch) }

// WithLock are the blocks that run next where the acquire of a test of its outcome has succeeded.
func WithLock(c *rediscmd.Command) (blocks []*ssa.BasicBlock) {
	for _, t := range TestsOf(c) {
		blocks = append(blocks, t.taken())
	}
	return blocks
}

// WithoutLock tells by a step from one block to the next that a test of the outcome has found the lock refused.
func WithoutLock(c *rediscmd.Command) func(from, to *ssa.BasicBlock) bool {
	tests := TestsOf(c)
	return func(from, to *ssa.BasicBlock) bool {
		return slices.ContainsFunc(tests, func(t outcomeTest) bool { return t.block == from && t.lost() == to })
	}
}

func testsOf(c *rediscmd.Command, success func(ssa.Value, *rediscmd.Command) (int, bool)) []outcomeTest {
	var list []outcomeTest
	var visit func(fn *ssa.Function)
	visit = func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			if len(b.Instrs) == 0 {
				continue
			}
			cond, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
			if !ok || b.Succs[0] == b.Succs[1] {
				continue
			}
			if got, ok := success(cond.Cond, c); ok {
				list = append(list, outcomeTest{b, got})
			}
		}
		for _, lit := range fn.AnonFuncs {
			visit(lit)
		}
	}
	visit(c.Fn)
	return list
}

// SuccessBranch returns which successor means success: 0 for if ok, 1 for if !ok. A condition about anything but the
// outcome is none.
func SuccessBranch(cond ssa.Value, c *rediscmd.Command) (int, bool) {
	switch v := cond.(type) {
	case *ssa.UnOp:
		if v.Op == token.NOT {
			got, ok := SuccessBranch(v.X, c)
			return 1 - got, ok
		}
	case *ssa.BinOp:
		return successOfCompare(v, c)
	case *ssa.Extract:
		if c.Reply == rediscmd.ReplyResult && v.Tuple == ssa.Value(c.Call.Value()) && v.Index != c.Result {
			return 0, false // says something else
		}
	}
	if ssax.IsBool(cond.Type()) && DependsOn(cond, c) && !aboutError(cond, 0) {
		return 0, true
	}
	return 0, false
}

// successOfCompare reads comparisons with a constant: == 1, != 0, == true, == "OK" for SETNX; == 1, > 1 for INCR.
func successOfCompare(v *ssa.BinOp, c *rediscmd.Command) (int, bool) {
	x, y, op := v.X, v.Y, v.Op
	if _, ok := ssax.ConstOf(x); ok {
		x, y, op = y, x, mirrored[op]
	}
	if c.Reply == rediscmd.ReplyError && ssax.IsNilConst(y) && isErrorOf(ssax.SoleValue(x), c) {
		return map[token.Token]int{token.EQL: 0, token.NEQ: 1}[op], true
	}
	value, ok := ssax.ConstOf(y)
	if !ok || ssax.IsError(x.Type()) || !DependsOn(x, c) {
		return 0, false
	}
	if c.Op == ops.Count {
		return successOfCount(op, value)
	}
	success := value.Kind() == constant.String && constant.StringVal(value) == "OK" ||
		value.Kind() == constant.Bool && constant.BoolVal(value) || value.ExactString() == "1"
	failure := value.Kind() == constant.Bool && !constant.BoolVal(value) || value.ExactString() == "0"
	switch {
	case op == token.EQL && success, op == token.NEQ && failure:
		return 0, true
	case op == token.NEQ && success, op == token.EQL && failure:
		return 1, true
	}
	return 0, false
}

var mirrored = map[token.Token]token.Token{
	token.EQL: token.EQL, token.NEQ: token.NEQ, token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
	token.GEQ: token.LEQ,
}

// successOfCount reads the comparisons that single out the first who counts.
func successOfCount(op token.Token, value constant.Value) (int, bool) {
	switch op.String() + value.ExactString() {
	case "==1", "<=1", "<2":
		return 0, true
	case "!=1", ">1", ">=2":
		return 1, true
	}
	return 0, false
}

// aboutError reports whether a boolean is a statement about an error, as errors.Is makes.
func aboutError(v ssa.Value, depth int) bool {
	if depth > keyexpr.MaxDepth {
		return true
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		return ssax.IsError(v.X.Type()) || aboutError(v.X, depth+1) || aboutError(v.Y, depth+1)
	case *ssa.Call:
		for _, a := range v.Call.Args {
			if ssax.IsError(a.Type()) {
				return true
			}
		}
	}
	return false
}

// WhenHeld says on which ways a release runs that stands in the function of its acquire.
func WhenHeld(a *rediscmd.Command, release ssa.CallInstruction) way {
	return whenHeld(a, release, TestsOf(a))
}

func whenHeld(a *rediscmd.Command, release ssa.CallInstruction, tests []outcomeTest) way {
	result := unknownWay
	for _, t := range tests {
		at := registration(a, release, t.block.Parent())
		if at == nil {
			continue
		}
		if ssax.IsDeferred(at) && ssax.RunsBefore(at, t.block.Instrs[len(t.block.Instrs)-1]) {
			return EitherWay
		}
		var again *ssa.BasicBlock // where the next try starts
		if a.Call.Parent() == at.Parent() {
			again = a.Call.Block()
		}
		got, lost := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
		ssax.Reach(t.taken(), t.block, got)
		ssax.Reach(t.lost(), again, lost)
		switch g, l := got[at.Block()], lost[at.Block()]; {
		case g && !l:
			return OnlyHeld // whatever other tests say
		case l && !g && result == unknownWay:
			result = OnlyLost
		case g && l:
			result = EitherWay
		}
	}
	return result
}

// EndsHeld reports whether the function of an acquire returns only with the lock, as one that tries again for ever.
func EndsHeld(a *rediscmd.Command) bool {
	fn := a.Call.Parent()
	without := map[*ssa.BasicBlock]bool{}
	tests := map[*ssa.BasicBlock]*ssa.BasicBlock{}
	for _, t := range TestsOf(a) {
		tests[t.block] = t.lost()
	}
	if len(tests) == 0 || fn.Parent() != nil {
		return false
	}
	ends := true
	var visit func(b *ssa.BasicBlock)
	visit = func(b *ssa.BasicBlock) {
		if without[b] {
			return
		}
		without[b] = true
		if _, returns := b.Instrs[len(b.Instrs)-1].(*ssa.Return); returns {
			ends = false
		}
		if lost := tests[b]; lost != nil {
			visit(lost)
			return
		}
		for _, s := range b.Succs {
			visit(s)
		}
	}
	visit(fn.Blocks[0])
	return ends
}

// Inverted reports whether a release is deferred where the lock has not been got, and only there: whoever wrote it took
// the two answers for each other. A key that is deleted at once without the lock is mostly a stale one.
func Inverted(a *rediscmd.Command, release ssa.CallInstruction) bool {
	at := registration(a, release, a.Call.Parent())
	return at != nil && ssax.IsDeferred(at) && WhenHeld(a, release) == OnlyLost
}

// registration is the instruction of a function that makes a release happen: the call itself, or what runs or defers
// the function literal that it stands in. Nil if there is none, or if the literal looks at the outcome by itself.
func registration(a *rediscmd.Command, release ssa.CallInstruction, fn *ssa.Function) ssa.Instruction {
	at := ssa.Instruction(release)
	for at != nil && at.Parent() != fn {
		for b := at.Block(); b.Idom() != nil; b = b.Idom() {
			last := b.Idom().Instrs[len(b.Idom().Instrs)-1]
			if cond, ok := last.(*ssa.If); ok && DependsOn(cond.Cond, a) {
				return nil
			}
		}
		lit := at.Parent()
		if at = nil; lit.Parent() != nil {
			at = ssax.RunnerOf(lit)
		}
	}
	return at
}
