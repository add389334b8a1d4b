package ssax

import (
	"go/constant"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file follows values through the places where SSA form hides them: variables that function literals capture
// live in memory, and variadic arguments travel in a slice.

// CellOf resolves a captured variable to the variable of the enclosing function.
func CellOf(addr ssa.Value) ssa.Value {
	for {
		fv, ok := addr.(*ssa.FreeVar)
		if !ok {
			return addr
		}
		mc := makeClosure(fv.Parent())
		if mc == nil {
			return addr
		}
		i := 0
		for i < len(fv.Parent().FreeVars) && fv.Parent().FreeVars[i] != fv {
			i++
		}
		if i >= len(mc.Bindings) {
			return addr
		}
		addr = mc.Bindings[i]
	}
}

// makeClosure finds the one instruction that creates a function literal with captured variables.
func makeClosure(fn *ssa.Function) *ssa.MakeClosure {
	if fn.Parent() == nil {
		return nil
	}
	for _, b := range fn.Parent().Blocks {
		for _, instr := range b.Instrs {
			if mc, ok := instr.(*ssa.MakeClosure); ok && mc.Fn == fn {
				return mc
			}
		}
	}
	return nil
}

// OnlyStore returns the value of a variable that is assigned exactly once, in its function or in the literals that
// capture it, and whose address goes nowhere else.
func OnlyStore(a *ssa.Alloc) (ssa.Value, bool) {
	var stored ssa.Value
	stores := 0
	ok := EachCellUse(a, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			stores++
			stored = instr.Val
			return instr.Addr == addr
		case *ssa.UnOp, *ssa.DebugRef, *ssa.FieldAddr:
			return true
		}
		return false
	})
	return stored, ok && stores == 1
}

// StoredBefore returns the value of a variable that a load reads, where all assignments stand in the variable's own
// function and run one after the other, as in key = prefix + key. A literal sees what was assigned before it is made; none
// may follow.
func StoredBefore(a *ssa.Alloc, load *ssa.UnOp) (ssa.Value, bool) {
	at, inside := ssa.Instruction(load), load.Parent() == a.Parent()
	for fn := load.Parent(); fn != a.Parent(); fn = fn.Parent() {
		if fn.Parent() == nil {
			return nil, false
		}
		mc := makeClosure(fn)
		if mc == nil {
			return nil, false
		}
		at = mc
	}
	var stores []*ssa.Store
	ok := EachCellUse(a, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			stores = append(stores, instr)
			return instr.Addr == addr && instr.Parent() == a.Parent()
		case *ssa.UnOp, *ssa.DebugRef, *ssa.FieldAddr:
			return true
		}
		return false
	})
	var last *ssa.Store
	for _, st := range stores {
		switch {
		case RunsBefore(st, at):
			if last == nil || RunsBefore(last, st) {
				last = st
			}
		case !inside || Reaches(st.Block(), at.Block()):
			return nil, false
		}
	}
	return valueOf(last), ok && last != nil
}

func valueOf(st *ssa.Store) ssa.Value {
	if st == nil {
		return nil
	}
	return st.Val
}

// EachCellUse calls use for every instruction that refers to a variable, following captures into function literals,
// until use returns false.
func EachCellUse(addr ssa.Value, use func(instr ssa.Instruction, addr ssa.Value) bool) bool {
	refs := addr.Referrers()
	if refs == nil {
		return false
	}
	for _, instr := range *refs {
		mc, ok := instr.(*ssa.MakeClosure)
		if !ok {
			if !use(instr, addr) {
				return false
			}
			continue
		}
		fn, ok := mc.Fn.(*ssa.Function)
		if !ok {
			return false
		}
		for i, b := range mc.Bindings {
			if b == addr && !EachCellUse(fn.FreeVars[i], use) {
				return false
			}
		}
	}
	return true
}

// Variadic returns the elements of a slice that was built for this call: the arguments of a variadic parameter or a
// composite literal. A slice from elsewhere has unknown elements.
func Variadic(v ssa.Value) ([]ssa.Value, bool) {
	if c, ok := v.(*ssa.Const); ok && c.Value == nil || isEmpty(v) {
		return nil, true // no arguments at all
	}
	switch v := v.(type) {
	case *ssa.ChangeType:
		return Variadic(v.X)
	case *ssa.Call:
		return appended(v)
	}
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil, false
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok || array.Referrers() == nil || slice.Low != nil || slice.High != nil {
		return nil, false
	}
	var elems []ssa.Value
	for _, instr := range *array.Referrers() {
		at, ok := instr.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		c, ok := at.Index.(*ssa.Const)
		if !ok || c.Value == nil {
			return nil, false
		}
		i, exact := constant.Int64Val(c.Value)
		if !exact || i < 0 || i > 1<<10 {
			return nil, false
		}
		for int64(len(elems)) <= i {
			elems = append(elems, nil)
		}
		for _, use := range *at.Referrers() {
			if st, ok := use.(*ssa.Store); ok && st.Addr == at {
				elems[i] = st.Val
			}
		}
	}
	for _, e := range elems {
		if e == nil {
			return nil, false
		}
	}
	return elems, true
}

// appended is Variadic for what append returns: the list that it is given, and what it adds.
func appended(call *ssa.Call) ([]ssa.Value, bool) {
	list, more, ok := Appended(call)
	if !ok {
		return nil, false
	}
	first, known := Variadic(list)
	rest, alsoKnown := Variadic(more)
	return slices.Concat(first, rest), known && alsoKnown
}

// Appended are the list that a call adds to and the list of what it adds: a call of append, or of the method Add of
// redigo's Args.
func Appended(call *ssa.Call) (list, more ssa.Value, ok bool) {
	args := call.Call.Args
	if len(args) != 2 {
		return nil, nil, false
	}
	if builtin, ok := call.Call.Value.(*ssa.Builtin); ok {
		return args[0], args[1], builtin.Name() == "append"
	}
	fn := call.Call.StaticCallee()
	return args[0], args[1], fn != nil && strings.HasSuffix(CalleeName(fn), "/redigo/redis.Args).Add")
}

// isEmpty reports whether a value is a slice that is made with a length of 0.
func isEmpty(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeSlice:
		return isZero(v.Len)
	case *ssa.Slice:
		return v.High != nil && isZero(v.High)
	}
	return false
}

func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.ExactString() == "0"
}

// LiteralField returns what a struct literal sets a field to, nil when the field is not set. known is false when the
// value is not a literal built in this function.
func LiteralField(v ssa.Value, name string) (set ssa.Value, known bool) {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		c, isConst := v.(*ssa.Const) // T{} without any field
		return nil, isConst && c.Value == nil
	}
	a, ok := CellOf(load.X).(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	var whole ssa.Value // what a variable that is captured is set to
	known = EachCellUse(a, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.FieldAddr:
			if st := storeTo(instr); st != nil && FieldNameOnly(instr) == name {
				set = st.Val
			}
			return true
		case *ssa.Store:
			again := whole != nil
			whole = instr.Val
			return !again && instr.Addr == addr && isLiteral(whole)
		case *ssa.UnOp, *ssa.DebugRef:
			return true
		}
		return false
	})
	if known && set == nil && whole != nil {
		return LiteralField(whole, name)
	}
	return set, known
}

// isLiteral reports whether a value is read from the place where a struct literal was put together.
func isLiteral(v ssa.Value) bool {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return false
	}
	a, ok := load.X.(*ssa.Alloc)
	return ok && a.Comment == "complit"
}

// storeTo is a store to the address of a field, nil if there is none.
func storeTo(field *ssa.FieldAddr) *ssa.Store {
	for _, use := range *field.Referrers() {
		if st, ok := use.(*ssa.Store); ok && st.Addr == ssa.Value(field) {
			return st
		}
	}
	return nil
}
