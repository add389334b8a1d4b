package directive

import (
	"go/token"
	"go/types"
)

// The reasons that more than one place needs.
const (
	noTime = "the text of a time.Time depends on its zone and clock reading: write |unix for whole seconds"
	noText = "has no text of its own: pass a string, an integer, a bool, or a type with MarshalText"
)

// classify sets how a value of type t becomes text, or returns why it cannot: "type" or "filter" and a reason.
func classify(v *Value, hole *Placeholder, t types.Type) (slug, reason string) {
	if hole.Len {
		return classifyLen(v, hole.Filter, t)
	}
	elem, pointer := deref(t)
	if isNamed(elem, "time", "Time") {
		if hole.Filter != FilterUnix {
			return "type", noTime
		}
		v.Kind, v.Deref = KindTime, pointer
		return "", ""
	}
	switch hole.Filter {
	case FilterUnix:
		return "filter", "|unix takes a time.Time: delete the filter"
	case FilterString:
		if classifyMethod(v, t, KindStringer, stringer) {
			return "", ""
		}
		return "filter", "|string takes a type with a method String() string: delete the filter, or add the method"
	case FilterText:
		if classifyMethod(v, t, KindText, textMarshaler) {
			return "", ""
		}
		return "filter",
			"|text takes a type with a method MarshalText() ([]byte, error): delete the filter, or add the method"
	}
	if kinds := basicKinds(elem); kinds != 0 {
		v.Kind, v.kinds, v.Deref = kinds.kind(), kinds, pointer
		if hole.Filter == FilterLower && kinds != setString {
			return "filter", "|lower takes a string: delete the filter"
		}
		return "", ""
	}
	if classifyMethod(v, t, KindText, textMarshaler) {
		return "", ""
	}
	return "type", whyNot(t)
}

// classifyMethod looks for a method that gives the text, of the value or of its address. The runtime checks for a
// nil pointer or interface before it calls the method.
func classifyMethod(v *Value, t types.Type, k Kind, method *types.Interface) bool {
	switch {
	case types.Implements(t, method):
	case !types.IsInterface(t) && types.Implements(types.NewPointer(t), method):
		v.Addr = true
	default:
		return false
	}
	v.Kind = k
	return true
}

// classifyLen checks what len takes, and that no filter follows but hash.
func classifyLen(v *Value, f Filter, t types.Type) (slug, reason string) {
	if f != FilterNone && f != FilterHash {
		return "filter", "a length is a number, which |" + string(f) + " does not take: delete the filter"
	}
	v.Kind = KindLen
	elem, pointer := deref(t)
	if hasLen(elem) {
		v.Deref = pointer
		return "", ""
	}
	return "type", "it has no length: write the name without len"
}

func hasLen(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		terms := termsOf(p)
		for _, term := range terms {
			if !hasLen(term) {
				return false
			}
		}
		return len(terms) > 0
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Array, *types.Chan:
		return true
	case *types.Basic:
		return u.Info()&types.IsString != 0
	}
	return false
}

// deref is what a pointer points to.
func deref(t types.Type) (types.Type, bool) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem(), true
	}
	return t, false
}

// whyNot says why a type without MarshalText cannot stand in a key.
func whyNot(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		if len(termsOf(p)) == 0 {
			return "a type parameter that is not constrained to strings, integers or bools may be anything: constrain it, " +
				"such as [" + p.Obj().Name() + " ~string | ~int64]"
		}
		return "the types that it stands for do not all have a text: constrain it to strings, integers and bools"
	}
	hint := ""
	if types.Implements(t, stringer) {
		hint = " (it has String: write |string if no two values share their text)"
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if _, again := deref(u.Elem()); again {
			return "only one pointer is followed: pass what it points to in the end"
		}
		return whyNot(u.Elem())
	case *types.Interface:
		return "an interface may hold anything: pass a string, an integer, a bool, or a type with MarshalText" + hint
	case *types.Basic:
		if u.Info()&(types.IsFloat|types.IsComplex) != 0 {
			return "equal numbers of that type may be written differently and NaN equals nothing: pass an integer or a string" +
				hint
		}
		return "it " + noText + hint
	case *types.Slice:
		return "a slice " + noText + ", or lock its elements one by one" + hint
	case *types.Struct:
		return "a struct " + noText + "; a field of it, such as {order.ID}, may do" + hint
	case *types.Map:
		return "a map " + noText + hint
	case *types.Array:
		return "an array " + noText + hint
	case *types.Chan:
		return "a channel " + noText + hint
	case *types.Signature:
		return "a function " + noText + hint
	}
	return "it " + noText + hint
}

// The two interfaces, built here so that no package needs to be loaded for them.
var (
	textMarshaler = method("MarshalText", types.NewSlice(types.Typ[types.Byte]), types.Universe.Lookup("error").Type())
	stringer      = method("String", types.Typ[types.String])
)

func method(name string, results ...types.Type) *types.Interface {
	var vars []*types.Var
	for _, t := range results {
		vars = append(vars, types.NewParam(token.NoPos, nil, "", t))
	}
	sig := types.NewSignatureType(nil, nil, nil, nil, types.NewTuple(vars...), false)
	return types.NewInterfaceType([]*types.Func{types.NewFunc(token.NoPos, nil, name, sig)}, nil).Complete()
}
