package rediscmd

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A List is a list of arguments. Of one that is spread the last is a list itself.
type List struct {
	Params []int
	Spread bool
}

// paramOf is the number of the parameter that a value is.
func paramOf(v ssa.Value) (int, bool) {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	p, ok := ssax.SoleValue(v).(*ssa.Parameter)
	if !ok || p.Parent().Parent() != nil {
		return 0, false
	}
	return slices.Index(p.Parent().Params, p), true
}

// listOf describes a list that is made of parameters: one of them as it is, some of them, or some followed by one, be
// it by append or element by element.
func listOf(v ssa.Value, depth int) (List, bool) {
	if v == nil || depth > ssax.MaxDepth {
		return List{}, v == nil
	}
	if i, ok := paramOf(v); ok {
		return List{[]int{i}, true}, true
	}
	if elems, ok := ssax.Variadic(v); ok {
		list := List{}
		for _, e := range elems {
			i, ok := paramOf(e)
			if !ok {
				return List{}, false
			}
			list.Params = append(list.Params, i)
		}
		return list, true
	}
	switch v := v.(type) {
	case *ssa.Call:
		if first, more, ok := ssax.Appended(v); ok {
			return joined(first, more, depth)
		}
	case *ssa.Phi:
		return copied(v, depth)
	case *ssa.MakeSlice:
		return filled(v)
	}
	return List{}, false
}

// filled is listOf for a list that is made long enough for some arguments and a parameter, which is copied behind them.
func filled(list *ssa.MakeSlice) (List, bool) {
	size, ok := list.Len.(*ssa.BinOp)
	if !ok || size.Op != token.ADD {
		return List{}, false
	}
	fixed, rest := ssax.IntOf(size.X), lengthOf(size.Y)
	if fixed < 0 {
		fixed, rest = ssax.IntOf(size.Y), lengthOf(size.X)
	}
	if fixed < 0 || fixed > maxFixed || rest < 0 {
		return List{}, false
	}
	params, copies := make([]int, fixed), false
	for i := range params {
		params[i] = -1
	}
	for _, use := range *list.Referrers() {
		switch use := use.(type) {
		case *ssa.IndexAddr:
			i := ssax.IntOf(use.Index)
			if i < 0 || i >= fixed {
				return List{}, false
			}
			for _, st := range *use.Referrers() {
				if st, ok := st.(*ssa.Store); ok {
					if params[i], ok = paramOf(st.Val); !ok {
						return List{}, false
					}
				}
			}
		case *ssa.Slice:
			copies = copies || use.Low != nil && ssax.IntOf(use.Low) == fixed && isFilledFrom(use, rest)
		}
	}
	return List{append(params, rest), true}, copies && !slices.Contains(params, -1)
}

// maxFixed is how many arguments of its own a function puts before those of its caller.
const maxFixed = 8

// lengthOf is the parameter whose length a value is, -1 for none.
func lengthOf(v ssa.Value) int {
	call, ok := v.(*ssa.Call)
	if !ok {
		return -1
	}
	if builtin, ok := call.Call.Value.(*ssa.Builtin); !ok || builtin.Name() != "len" {
		return -1
	}
	if i, ok := paramOf(call.Call.Args[0]); ok {
		return i
	}
	return -1
}

// isFilledFrom reports whether a parameter is copied into a part of a list.
func isFilledFrom(part *ssa.Slice, param int) bool {
	return slices.ContainsFunc(*part.Referrers(), func(use ssa.Instruction) bool {
		call, ok := use.(*ssa.Call)
		if !ok || len(call.Call.Args) != 2 || call.Call.Args[0] != ssa.Value(part) {
			return false
		}
		builtin, ok := call.Call.Value.(*ssa.Builtin)
		i, isParam := paramOf(call.Call.Args[1])
		return ok && builtin.Name() == "copy" && isParam && i == param
	})
}

// joined is listOf for a list and what is added to it.
func joined(first, more ssa.Value, depth int) (List, bool) {
	list, ok := listOf(first, depth+1)
	rest, alsoOK := listOf(more, depth+1)
	if !ok || !alsoOK || list.Spread {
		return List{}, false
	}
	return List{append(list.Params, rest.Params...), rest.Spread}, true
}

// copied is listOf for a variable that is a list on one way, and has the elements of a parameter added on another.
func copied(phi *ssa.Phi, depth int) (List, bool) {
	list, from := List{}, -1
	for _, e := range phi.Edges {
		if i := grownBy(e, phi); i >= 0 {
			from = i
			continue
		}
		other, ok := listOf(e, depth+1)
		if !ok || !list.begins(other) && !other.begins(list) {
			return List{}, false
		}
		if len(other.Params) > len(list.Params) {
			list = other
		}
	}
	if from < 0 || list.Spread {
		return list, from < 0
	}
	return List{append(list.Params, from), true}, true
}

// begins reports whether a list is the beginning of another.
func (l List) begins(other List) bool {
	return len(l.Params) <= len(other.Params) && !l.Spread && slices.Equal(l.Params, other.Params[:len(l.Params)])
}

// grownBy is the parameter of which a round of a loop adds an element to a list, -1 for none.
func grownBy(v ssa.Value, list *ssa.Phi) int {
	call, ok := v.(*ssa.Call)
	if !ok {
		return -1
	}
	first, more, ok := ssax.Appended(call)
	if !ok || first != ssa.Value(list) {
		return -1
	}
	elems, ok := ssax.Variadic(more)
	if !ok || len(elems) != 1 {
		return -1
	}
	return elementOf(elems[0])
}

// elementOf is the parameter that a range statement takes a value from, -1 for none.
func elementOf(v ssa.Value) int {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return -1
	}
	at, ok := load.X.(*ssa.IndexAddr)
	if !ok || !isRange(at.Index) {
		return -1
	}
	i, ok := paramOf(at.X)
	if !ok {
		return -1
	}
	return i
}

// isRange reports whether a value is the index of a range statement.
func isRange(v ssa.Value) bool {
	next, ok := v.(*ssa.BinOp)
	if !ok || next.Op != token.ADD {
		return false
	}
	at, ok := next.X.(*ssa.Phi)
	return ok && slices.ContainsFunc(at.Edges, func(e ssa.Value) bool {
		start, ok := ssax.ConstOf(e)
		return ok && start.ExactString() == "-1"
	})
}

// within is a list that a function hands to another one, in terms of the parameters of the first.
func (l List) within(values []ssa.Value) (List, bool) {
	var out List
	for n, p := range l.Params {
		v := valueAt(values, p)
		if v == nil {
			return List{}, false
		}
		if l.Spread && n == len(l.Params)-1 {
			rest, ok := listOf(v, 0)
			return List{append(out.Params, rest.Params...), rest.Spread}, ok
		}
		i, ok := paramOf(v)
		if !ok {
			return List{}, false
		}
		out.Params = append(out.Params, i)
	}
	return out, true
}

// values are the arguments of a list at a call.
func (l List) values(values []ssa.Value) ([]ssa.Value, bool) {
	var out []ssa.Value
	for n, p := range l.Params {
		v := valueAt(values, p)
		if v == nil {
			return nil, false
		}
		if l.Spread && n == len(l.Params)-1 {
			rest, ok := ssax.Variadic(v)
			return append(out, rest...), ok
		}
		out = append(out, v)
	}
	return out, true
}
