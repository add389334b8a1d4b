package refusals

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows the lock and the error of an acquire into variables that literals capture, as where the error is put
// into a result that a deferred literal sets when the function panics.

// readings are an error and what is read from the variable that it is put into, until that is set again; the error alone
// where it goes elsewhere.
func readings(err ssa.Value) []ssa.Value {
	list := []ssa.Value{err}
	for _, use := range *err.Referrers() {
		if join := joinedAlone(use, err); join != nil {
			list = append(list, join)
			continue
		}
		st, ok := use.(*ssa.Store)
		if !ok {
			continue
		}
		cell := variableOf(st)
		if cell == nil {
			return list[:1]
		}
		list = append(list, readFrom(cell, st)...)
	}
	return list
}

// joinedAlone is the error that is made of an error and no other, as by errors.Join, if a use does that; nil for others.
func joinedAlone(use ssa.Instruction, err ssa.Value) *ssa.Call {
	st, ok := use.(*ssa.Store)
	if !ok {
		return nil
	}
	elem, ok := st.Addr.(*ssa.IndexAddr)
	if !ok {
		return nil
	}
	for _, use := range *elem.X.Referrers() {
		list, ok := use.(*ssa.Slice)
		if !ok {
			continue
		}
		for _, use := range *list.Referrers() {
			call, ok := use.(*ssa.Call)
			if !ok {
				continue
			}
			if of, ok := ssax.MadeOf(call); ok && len(of) == 1 && of[0] == err {
				return call
			}
		}
	}
	return nil
}

// keepsReading reports whether a use puts an error into a variable whose readings are known.
func keepsReading(use ssa.Instruction, err ssa.Value) bool {
	st, ok := use.(*ssa.Store)
	return ok && st.Val == err && variableOf(st) != nil
}

// variableOf is the variable of a function that a store sets, if the literals which capture it never read it; nil for others.
func variableOf(st *ssa.Store) *ssa.Alloc {
	cell, ok := st.Addr.(*ssa.Alloc)
	if !ok || !ssax.IsError(st.Val.Type()) {
		return nil
	}
	known := ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			return instr.Addr == addr
		case *ssa.UnOp:
			return instr.Parent() == cell.Parent()
		case *ssa.DebugRef:
			return true
		}
		return false
	})
	if !known {
		return nil
	}
	return cell
}

// readFrom are the loads that read what a store has put into a variable.
func readFrom(cell *ssa.Alloc, st *ssa.Store) (loads []ssa.Value) {
	seen := map[*ssa.BasicBlock]bool{}
	var visit func(b *ssa.BasicBlock, from int)
	visit = func(b *ssa.BasicBlock, from int) {
		for _, instr := range b.Instrs[from:] {
			switch instr := instr.(type) {
			case *ssa.Store:
				if instr.Addr == ssa.Value(cell) {
					return
				}
			case *ssa.UnOp:
				if instr.X == ssa.Value(cell) {
					loads = append(loads, instr)
				}
			}
		}
		for _, s := range b.Succs {
			if !seen[s] {
				seen[s] = true
				visit(s, 0)
			}
		}
	}
	visit(st.Block(), ssax.IndexIn(st.Block(), st)+1)
	return loads
}

// onlyDeferred reports whether nobody looks at a lock but a deferred literal, when all is over.
func onlyDeferred(lease *ssa.Extract) bool {
	for _, use := range *lease.Referrers() {
		st, ok := use.(*ssa.Store)
		if !ok {
			if _, ok := use.(*ssa.DebugRef); ok {
				continue
			}
			return false
		}
		cell, ok := st.Addr.(*ssa.Alloc)
		if !ok || !ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				return instr == st
			case *ssa.UnOp:
				return ssax.IsDeferredLiteral(instr.Parent())
			case *ssa.DebugRef:
				return true
			}
			return false
		}) {
			return false
		}
	}
	return true
}
