package lockcheck

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// unlocksAlone reports whether a mutex in a field is a function's to unlock although it lives longer: the function does
// so on some path, fails on those that leave it locked, and no other function unlocks what it has not locked. A field
// that other packages see may be unlocked there, and a function that succeeds with the mutex locked hands it on.
func (ix *index) unlocksAlone(flow *siteFlow) bool {
	load, ok := flow.site.recv.(*ssa.UnOp)
	if !ok || !flow.released {
		return false
	}
	field, ok := load.X.(*ssa.FieldAddr)
	if !ok || token.IsExported(fieldNameOnly(field)) {
		return false
	}
	for _, l := range flow.leaks {
		if ret, ok := l.exit.(*ssa.Return); ok && !failing(ret) {
			return false
		}
	}
	uses := map[*ssa.Function]fieldUse{}
	name := fieldName(field.X.Type(), field.Field)
	for _, fn := range ix.funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if fa, ok := instr.(*ssa.FieldAddr); ok && fieldName(fa.X.Type(), fa.Field) == name {
					uses[outermost(fn)] = uses[outermost(fn)].with(useOf(fa))
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
	return n == 0 || isError(ret.Results[n-1].Type()) && !isNilConst(ret.Results[n-1])
}

// A fieldUse is what a function does with a mutex in a field.
type fieldUse struct{ locks, unlocks, other bool }

func (u fieldUse) with(v fieldUse) fieldUse {
	return fieldUse{u.locks || v.locks, u.unlocks || v.unlocks, u.other || v.other}
}

// useOf looks at one mention of the field. Setting it is no use.
func useOf(fa *ssa.FieldAddr) fieldUse {
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
			case !ok || handleOf(call.Common()) != load:
				u.other = true
			case verbOf(call.Common(), load) == verbLock:
				u.locks = true
			case verbOf(call.Common(), load) == verbRelease:
				u.unlocks = true
			case verbOf(call.Common(), load) == verbOther:
				u.other = true
			}
		}
	}
	return u
}
