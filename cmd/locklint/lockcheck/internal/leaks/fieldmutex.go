package leaks

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// unlocksAlone reports whether a mutex in a field is a function's to unlock although it lives longer: the function does
// so on some path, fails on those that leave it locked, and no other function unlocks what it has not locked. A field
// that other packages see may be unlocked there, and a function that succeeds with the mutex locked hands it on. An
// object that keeps the locks of many keys is there for whoever locks one.
func unlocksAlone(ix *index.Index, flow *leases.Flow) bool {
	if !flow.Released || slices.ContainsFunc(flow.Leaks, func(l leases.Leak) bool {
		ret, ok := l.Exit.(*ssa.Return)
		return ok && !failing(ret)
	}) {
		return false
	}
	if flow.Site.Keyed {
		return true
	}
	load, ok := flow.Site.Recv.(*ssa.UnOp)
	if !ok {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	if !ok || token.IsExported(ssax.FieldNameOnly(field)) {
		return false
	}
	uses := map[*ssa.Function]fieldUse{}
	name := ssax.FieldName(field.X.Type(), field.Field)
	for _, fn := range ix.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if fa, ok := instr.(*ssa.FieldAddr); ok && ssax.FieldName(fa.X.Type(), fa.Field) == name {
					uses[ssax.Outermost(fn)] = uses[ssax.Outermost(fn)].with(useOf(ix.Leases, fa))
				}
			}
		}
	}
	for _, u := range uses {
		if u.other || u.unlocks && !u.locks {
			return false
		}
	}
	return true
}

// failing reports whether a return says that the function has failed, or cannot say anything.
func failing(ret *ssa.Return) bool {
	n := len(ret.Results)
	return n == 0 || ssax.IsError(ret.Results[n-1].Type()) && !ssax.IsNilConst(ssax.Returned(ret, n-1))
}

// A fieldUse is what a function does with a mutex in a field.
type fieldUse struct{ locks, unlocks, other bool }

func (u fieldUse) with(v fieldUse) fieldUse {
	return fieldUse{u.locks || v.locks, u.unlocks || v.unlocks, u.other || v.other}
}

// useOf looks at one mention of the field. Setting it is no use.
func useOf(li *leases.Info, fa *ssa.FieldAddr) fieldUse {
	u := fieldUse{}
	for _, instr := range *fa.Referrers() {
		load, ok := instr.(*ssa.UnOp)
		if !ok {
			st, isStore := instr.(*ssa.Store)
			u.other = u.other || !(isStore && st.Addr == fa)
			continue
		}
		for _, use := range *load.Referrers() {
			call, ok := use.(ssa.CallInstruction)
			switch {
			case !ok || li.HandleOf(call.Common()) != load:
				u.other = true
			case li.VerbOf(call.Common(), load) == handles.VerbLock:
				u.locks = true
			case li.VerbOf(call.Common(), load) == handles.VerbRelease:
				u.unlocks = true
			case li.VerbOf(call.Common(), load) == handles.VerbOther:
				u.other = true
			}
		}
	}
	return u
}
