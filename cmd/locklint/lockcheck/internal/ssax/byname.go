package ssax

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// ByName is what v was given when the program was written: the element of a map or a list in a package variable under a
// constant, or the one value that the package stores in a field that is not exported. nil if v is none of these.
func ByName(v ssa.Value) ssa.Value {
	switch v := v.(type) {
	case *ssa.Extract:
		if v.Index == 0 {
			return ByName(v.Tuple) // text, ok := scripts[name]
		}
	case *ssa.Lookup:
		if made := variableOf(v.X); made != nil {
			return entryOf(made, v.Index)
		}
	case *ssa.UnOp:
		switch at := v.X.(type) {
		case *ssa.IndexAddr:
			if made := variableOf(at.X); made != nil {
				return elementAt(made, at.Index)
			}
			if g, ok := at.X.(*ssa.Global); ok { // an array
				return elementAt(g, at.Index)
			}
		case *ssa.FieldAddr:
			return fieldStore(at)
		}
	}
	return nil
}

// variableOf is what a package variable is set to when the program starts, nil if v does not load one.
func variableOf(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return nil
	}
	g, ok := CellOf(load.X).(*ssa.Global)
	if !ok {
		return nil
	}
	return GlobalInit(g)
}

// entryOf is what a map is given under a constant key.
func entryOf(made, key ssa.Value) ssa.Value {
	want, ok := ConstOf(key)
	if !ok {
		return nil
	}
	for _, instr := range *made.Referrers() {
		up, ok := instr.(*ssa.MapUpdate)
		if !ok {
			continue
		}
		if k, ok := ConstOf(up.Key); ok && k.ExactString() == want.ExactString() {
			return up.Value
		}
	}
	return nil
}

// elementAt is what a list is given at a constant index.
func elementAt(list, index ssa.Value) ssa.Value {
	at := IntOf(index)
	if g, ok := list.(*ssa.Global); ok {
		return storedAt(g.Pkg.Func("init"), g, at)
	}
	elems, ok := Variadic(list)
	if !ok || at < 0 || at >= len(elems) {
		return nil
	}
	return elems[at]
}

// storedAt is what a function stores at an index of an array in a package variable.
func storedAt(fn *ssa.Function, array ssa.Value, index int) ssa.Value {
	if fn == nil {
		return nil
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			st, ok := instr.(*ssa.Store)
			if !ok {
				continue
			}
			if at, ok := st.Addr.(*ssa.IndexAddr); ok && at.X == array && IntOf(at.Index) == index {
				return st.Val
			}
		}
	}
	return nil
}

// fieldStore is the one value that the functions of a package store in a field that nobody else can set.
func fieldStore(field *ssa.FieldAddr) ssa.Value {
	name := FieldName(field.X.Type(), field.Field)
	pkg := field.Parent().Pkg
	if pkg == nil || types.NewVar(0, nil, FieldNameOnly(field), nil).Exported() {
		return nil
	}
	var stored ssa.Value
	n := 0
	eachFunction(pkg, func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				st, ok := instr.(*ssa.Store)
				if !ok {
					continue
				}
				if at, ok := st.Addr.(*ssa.FieldAddr); ok && FieldName(at.X.Type(), at.Field) == name {
					stored = st.Val
					n++
				}
			}
		}
	})
	if load, ok := stored.(*ssa.UnOp); n != 1 || ok && isField(load.X) {
		return nil // set in several ways, or handed on from another field
	}
	return stored
}

// eachFunction calls visit for the functions and methods that a package declares, and for their literals.
func eachFunction(pkg *ssa.Package, visit func(*ssa.Function)) {
	var walk func(fn *ssa.Function)
	walk = func(fn *ssa.Function) {
		if fn == nil {
			return
		}
		visit(fn)
		for _, lit := range fn.AnonFuncs {
			walk(lit)
		}
	}
	for _, m := range pkg.Members {
		switch m := m.(type) {
		case *ssa.Function:
			walk(m)
		case *ssa.Type:
			if named, ok := m.Type().(*types.Named); ok {
				for fn := range named.Methods() {
					walk(pkg.Prog.FuncValue(fn))
				}
			}
		}
	}
}

func isField(addr ssa.Value) bool {
	_, ok := addr.(*ssa.FieldAddr)
	return ok
}
