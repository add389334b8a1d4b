package lockcheck

import (
	"go/constant"
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// This file tells the two ways apart on which a function goes on after it has asked for a lock.

// A way says on which of the ways a call runs.
type way uint8

const (
	unknownWay way = iota
	onlyHeld       // only with the lock
	onlyLost       // only without
	eitherWay      // with and without it
)

// An outcomeTest is a branch on the outcome of an acquire.
type outcomeTest struct {
	block *ssa.BasicBlock
	got   int // which successor is taken by whoever has got the lock
}

func (t outcomeTest) taken() *ssa.BasicBlock { return t.block.Succs[t.got] }
func (t outcomeTest) lost() *ssa.BasicBlock  { return t.block.Succs[1-t.got] }

// testsOf finds the branches on the outcome of an acquire, in its function and in the literals inside.
func testsOf(c *command) []outcomeTest {
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
			if got, ok := successBranch(cond.Cond, c); ok {
				list = append(list, outcomeTest{b, got})
			}
		}
		for _, lit := range fn.AnonFuncs {
			visit(lit)
		}
	}
	visit(c.fn)
	return list
}

// successBranch returns which successor means success: 0 for if ok, 1 for if !ok. A condition about anything but the
// outcome is none.
func successBranch(cond ssa.Value, c *command) (int, bool) {
	switch v := cond.(type) {
	case *ssa.UnOp:
		if v.Op == token.NOT {
			got, ok := successBranch(v.X, c)
			return 1 - got, ok
		}
	case *ssa.BinOp:
		return successOfCompare(v, c)
	}
	if isBool(cond.Type()) && dependsOn(cond, c, 0) && !aboutError(cond, 0) {
		return 0, true
	}
	return 0, false
}

// successOfCompare reads comparisons with a constant: == 1, != 0, == true, == "OK" for SETNX; == 1, > 1 for INCR.
func successOfCompare(v *ssa.BinOp, c *command) (int, bool) {
	x, y, op := v.X, v.Y, v.Op
	if _, ok := constOf(x); ok {
		x, y, op = y, x, mirrored[op]
	}
	value, ok := constOf(y)
	if !ok || isError(x.Type()) || !dependsOn(x, c, 0) {
		return 0, false
	}
	if c.op == opCount {
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
	if depth > maxKeyDepth {
		return true
	}
	switch v := v.(type) {
	case *ssa.BinOp:
		return isError(v.X.Type()) || aboutError(v.X, depth+1) || aboutError(v.Y, depth+1)
	case *ssa.Call:
		for _, a := range v.Call.Args {
			if isError(a.Type()) {
				return true
			}
		}
	}
	return false
}

// whenHeld says on which ways a release runs that stands in the function of its acquire.
func whenHeld(a *command, release ssa.CallInstruction) way {
	result := unknownWay
	for _, t := range testsOf(a) {
		at := registration(a, release, t.block.Parent())
		if at == nil {
			continue
		}
		if isDeferred(at) && runsBefore(at, t.block.Instrs[len(t.block.Instrs)-1]) {
			return eitherWay
		}
		var again *ssa.BasicBlock // where the next try starts
		if a.call.Parent() == at.Parent() {
			again = a.call.Block()
		}
		got, lost := map[*ssa.BasicBlock]bool{}, map[*ssa.BasicBlock]bool{}
		reach(t.taken(), t.block, got)
		reach(t.lost(), again, lost)
		switch g, l := got[at.Block()], lost[at.Block()]; {
		case g && !l:
			return onlyHeld // whatever other tests say
		case l && !g && result == unknownWay:
			result = onlyLost
		case g && l:
			result = eitherWay
		}
	}
	return result
}

// registration is the instruction of a function that makes a release happen: the call itself, or what runs or defers
// the function literal that it stands in. Nil if there is none, or if the literal looks at the outcome by itself.
func registration(a *command, release ssa.CallInstruction, fn *ssa.Function) ssa.Instruction {
	at := ssa.Instruction(release)
	for at != nil && at.Parent() != fn {
		for b := at.Block(); b.Idom() != nil; b = b.Idom() {
			last := b.Idom().Instrs[len(b.Idom().Instrs)-1]
			if cond, ok := last.(*ssa.If); ok && dependsOn(cond.Cond, a, 0) {
				return nil
			}
		}
		lit := at.Parent()
		if at = nil; lit.Parent() != nil {
			at = runnerOf(lit)
		}
	}
	return at
}

// runnerOf is the one instruction that calls, starts or defers a function literal, nil if it is not that simple.
func runnerOf(lit *ssa.Function) ssa.Instruction {
	var found ssa.Instruction
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			v := call.Common().Value
			if mc, ok := v.(*ssa.MakeClosure); ok {
				v = mc.Fn
			}
			if v == ssa.Value(lit) {
				if found != nil {
					return nil
				}
				found = call
			}
		}
	}
	return found
}

func isDeferred(instr ssa.Instruction) bool {
	_, ok := instr.(*ssa.Defer)
	return ok
}

// runsBefore reports whether first has run whenever second runs.
func runsBefore(first, second ssa.Instruction) bool {
	if first.Parent() != second.Parent() {
		return false
	}
	if first.Block() == second.Block() {
		return indexIn(first.Block(), first) < indexIn(second.Block(), second)
	}
	return first.Block().Dominates(second.Block())
}
