package refusals

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds calls that know by an object, or by themselves, whether they run with the lock, as in
//
//	s := queue
//	if err == nil {
//		defer lock.Release(ctx)
//		s = direct
//	}
//	return s.Put(ctx)

// dispatches reports whether a variable says what a call runs, and holds something else with the lock than without it.
func (t teller) dispatches(c *ssa.CallCommon) bool {
	if !c.IsInvoke() && c.StaticCallee() != nil {
		return false
	}
	phi, ok := c.Value.(*ssa.Phi)
	if !ok {
		return t.tells(c.Value)
	}
	got, lost := map[string]bool{}, map[string]bool{}
	for i, v := range phi.Edges {
		granted, refused := t.flow.Taken(phi.Block().Preds[i], phi.Block())
		if granted {
			got[identity(v)] = true
		}
		if refused {
			lost[identity(v)] = true
		}
	}
	return differ(got, lost) && !t.isLease(phi)
}

// differ reports whether there is something on both ways, and nothing is on both.
func differ(got, lost map[string]bool) bool {
	for v := range lost {
		if got[v] {
			return false
		}
	}
	return len(got) > 0 && len(lost) > 0
}

// isMarked reports whether a field of the object behind a pointer is set to what tells the outcome.
func (t teller) isMarked(v ssa.Value) bool {
	if _, ok := v.Type().Underlying().(*types.Pointer); !ok || t.flow.Site.Has(v) {
		return false
	}
	found, object := false, ssax.SoleValue(v)
	ssax.EachInstr(t.flow.Fn, func(instr ssa.Instruction) {
		st, ok := instr.(*ssa.Store)
		if !ok || found {
			return
		}
		field, ok := st.Addr.(*ssa.FieldAddr)
		found = ok && ssax.SoleValue(field.X) == object && t.marks(st)
	})
	return found
}

// marks reports whether a field is set to what tells the outcome: to the outcome itself, or to a constant on one of the two
// ways, or without the lock to what is not counted on from before.
func (t teller) marks(st *ssa.Store) bool {
	_, isConst := st.Val.(*ssa.Const)
	_, counts := st.Val.(*ssa.BinOp)
	granted, refused := t.waysTo(st.Block())
	switch {
	case granted && !refused && isConst, refused && !granted && (isConst || t.onlyRefused(st.Val) && !counts):
		return true
	}
	return t.tells(st.Val)
}

// waysTo are the outcomes of the acquire with which a block is reached.
func (t teller) waysTo(b *ssa.BasicBlock) (granted, refused bool) {
	for _, p := range b.Preds {
		g, r := t.flow.Taken(p, b)
		if granted, refused = granted || g, refused || r; !g && !r {
			return false, false // before the acquire, on some way
		}
	}
	return granted, refused
}
