package answers

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds functions that ask for a lock, look at the answer, and do the same either way.

// GoesOn returns the block at which those who have the lock and those who have not come together again, nil if there is
// none: neither way has done anything by then that work finds, and nothing that is looked at later tells them apart.
func GoesOn(c *rediscmd.Command, work func(*ssa.CallCommon) bool) *ssa.BasicBlock {
	call, ok := c.Call.(*ssa.Call)
	if !ok || c.Pipe != rediscmd.Direct || ssax.Reaches(call.Block(), call.Block()) || !onlyLogged(call, c.Result, 0) {
		return nil // asked again, or told to somebody
	}
	var join *ssa.BasicBlock
	for _, t := range TestsOf(c) {
		if t.block.Parent() != c.Call.Parent() {
			return nil
		}
		at := meet(t, c, work)
		if at == nil {
			return nil // some test is heeded
		}
		if join == nil {
			join = at
		}
	}
	return join
}

// onlyLogged reports whether an answer is tested and printed and nothing else: it goes to nobody, and no error is told from
// another. Of several results it is the one with the index.
func onlyLogged(v ssa.Value, index, depth int) bool {
	if depth > maxPrinted {
		return false
	}
	for _, instr := range *v.Referrers() {
		switch use := instr.(type) {
		case *ssa.DebugRef, *ssa.If:
		case *ssa.Extract:
			if use.Index == index && !onlyLogged(use, 0, depth+1) {
				return false
			}
		case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.FieldAddr:
			if !onlyLogged(use.(ssa.Value), 0, depth+1) {
				return false
			}
		case *ssa.UnOp:
			if use.Op != token.NOT || !onlyLogged(use, 0, depth+1) {
				return false
			}
		case *ssa.BinOp:
			_, x := ssax.ConstOf(use.X)
			_, y := ssax.ConstOf(use.Y)
			nils := ssax.IsNilConst(use.X) || ssax.IsNilConst(use.Y)
			if !x && !y && !nils || !onlyLogged(use, 0, depth+1) {
				return false
			}
		case *ssa.Store: // into the list of a call with any number of arguments
			if _, ok := use.Addr.(*ssa.IndexAddr); !ok {
				return false
			}
		case *ssa.Call: // a method of the answer, or what prints it
			m, ok := ssax.MethodOf(&use.Call)
			isAnswer := ok && m.Recv == v && clients.OfPackage(m.Obj.Pkg()) != clients.None
			isText := ok && m.Recv == v && m.Obj.Name() == "Error"
			if !ssax.Unused(use) && !((isAnswer || isText) && onlyLogged(use, 0, depth+1)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// maxPrinted is how many steps an answer may take to where it is tested or printed.
const maxPrinted = 6

// meet is where the two ways behind a test come together, if nothing else is asked before.
func meet(t outcomeTest, c *rediscmd.Command, work func(*ssa.CallCommon) bool) *ssa.BasicBlock {
	got, lost := straight(t.taken(), t.block, c, work), straight(t.lost(), t.block, c, work)
	for i, b := range lost {
		for j, other := range got {
			if b != other {
				continue
			}
			if told(b, before(got, j, t.block), before(lost, i, t.block)) {
				return nil
			}
			return b
		}
	}
	return nil
}

// straight are the blocks that follow a branch without another branch and without work. The last one may have both. The
// first may also be where the acquire has failed with an error, as after if err != nil || !ok.
func straight(b, from *ssa.BasicBlock, c *rediscmd.Command, work func(*ssa.CallCommon) bool) []*ssa.BasicBlock {
	list := []*ssa.BasicBlock{b}
	alone := func(pred *ssa.BasicBlock) bool { return pred == from || len(list) == 1 && failsInto(pred, b, c) }
	for !slices.ContainsFunc(b.Preds, func(p *ssa.BasicBlock) bool { return !alone(p) }) && len(b.Succs) == 1 && !works(b, work) {
		from, b = b, b.Succs[0]
		list = append(list, b)
	}
	return list
}

// failsInto reports whether a block goes on to another where the acquire has returned an error.
func failsInto(from, to *ssa.BasicBlock, c *rediscmd.Command) bool {
	branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	i, ok := ssax.ErrorBranch(branch.Cond)
	return ok && from.Succs[i] == to && DependsOn(branch.Cond, c)
}

func before(way []*ssa.BasicBlock, i int, from *ssa.BasicBlock) *ssa.BasicBlock {
	if i == 0 {
		return from
	}
	return way[i-1]
}

// works reports whether a block has a call that is work. Deferred calls run later, on both ways.
func works(b *ssa.BasicBlock, work func(*ssa.CallCommon) bool) bool {
	for _, instr := range b.Instrs {
		switch instr := instr.(type) {
		case *ssa.Call:
			if work(&instr.Call) {
				return true
			}
		case *ssa.Store: // other than into the list of a call with any number of arguments
			if _, ok := instr.Addr.(*ssa.IndexAddr); !ok {
				return true
			}
		case *ssa.Go, *ssa.Send, *ssa.MapUpdate, *ssa.Panic:
			return true
		}
	}
	return false
}

// told reports whether a block chooses between values by the way that led to it: they may be looked at later.
func told(b, got, lost *ssa.BasicBlock) bool {
	at := func(pred *ssa.BasicBlock) int {
		for i, p := range b.Preds {
			if p == pred {
				return i
			}
		}
		return -1
	}
	i, j := at(got), at(lost)
	if i < 0 || j < 0 {
		return true
	}
	for _, instr := range b.Instrs {
		if phi, ok := instr.(*ssa.Phi); ok && phi.Edges[i] != phi.Edges[j] {
			return true
		}
	}
	return false
}
