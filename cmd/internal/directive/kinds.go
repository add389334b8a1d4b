package directive

import (
	"go/types"
	"math/bits"
	"slices"
	"strings"
)

// A kindSet is a set of the kinds that are written by value.
type kindSet uint8

const (
	setString kindSet = 1 << iota
	setInt
	setUint
	setBool
)

// kind is the one kind of a set, KindBasic of a mixed one.
func (s kindSet) kind() Kind {
	switch s {
	case setString:
		return KindString
	case setInt:
		return KindInt
	case setUint:
		return KindUint
	case setBool:
		return KindBool
	}
	return KindBasic
}

// basicKinds is the kinds that values of t are written as, 0 if t is not a string, integer or bool. For a type
// parameter it is the union over its type set, 0 if that holds anything else.
func basicKinds(t types.Type) kindSet {
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return paramKinds(p.Constraint(), 0)
	}
	basic, ok := t.Underlying().(*types.Basic)
	if !ok {
		return 0
	}
	switch info := basic.Info(); {
	case info&types.IsString != 0:
		return setString
	case info&types.IsUnsigned != 0:
		return setUint
	case info&types.IsInteger != 0:
		return setInt
	case info&types.IsBoolean != 0:
		return setBool
	}
	return 0
}

// A constraint embeds itself only in code that does not compile; the depth guards against that.
const maxConstraintDepth = 20

// paramKinds is the kinds of a constraint. Its elements are intersected, so one element that is all of written kinds
// bounds the whole; the one with the fewest kinds bounds it best.
func paramKinds(constraint types.Type, depth int) kindSet {
	iface, ok := constraint.Underlying().(*types.Interface)
	if !ok || depth > maxConstraintDepth {
		return 0
	}
	var best kindSet
	for e := range iface.EmbeddedTypes() {
		kinds := elementKinds(e, depth+1)
		if kinds != 0 && (best == 0 || bits.OnesCount8(uint8(kinds)) < bits.OnesCount8(uint8(best))) {
			best = kinds
		}
	}
	return best
}

func elementKinds(e types.Type, depth int) kindSet {
	if types.IsInterface(e) {
		return paramKinds(e, depth)
	}
	union, ok := types.Unalias(e).(*types.Union)
	if !ok {
		return basicKinds(e)
	}
	var kinds kindSet
	for term := range union.Terms() {
		k := elementKinds(term.Type(), depth)
		if k == 0 {
			return 0
		}
		kinds |= k
	}
	return kinds
}

// termsOf is the types of the first element of a type parameter's constraint that lists some, nil if none does: every
// type argument has one of them as its underlying type.
func termsOf(p *types.TypeParam) []types.Type { return constraintTerms(p.Constraint(), 0) }

func constraintTerms(constraint types.Type, depth int) []types.Type {
	iface, ok := constraint.Underlying().(*types.Interface)
	if !ok || depth > maxConstraintDepth {
		return nil
	}
	for e := range iface.EmbeddedTypes() {
		if terms := elementTerms(e, depth+1); terms != nil {
			return terms
		}
	}
	return nil
}

func elementTerms(e types.Type, depth int) []types.Type {
	if types.IsInterface(e) {
		return constraintTerms(e, depth)
	}
	union, ok := types.Unalias(e).(*types.Union)
	if !ok {
		return []types.Type{e}
	}
	var terms []types.Type
	for term := range union.Terms() {
		some := elementTerms(term.Type(), depth)
		if some == nil {
			return nil
		}
		terms = append(terms, some...)
	}
	return terms
}

const (
	digits = "0123456789"
	// encoded is everything that a value can be after encoding: what stands for itself, and percent signs with
	// upper-case hexadecimal digits.
	encoded = digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._~-%"
	// lowered keeps the hexadecimal digits of the encoding in upper case.
	lowered = digits + "ABCDEFabcdefghijklmnopqrstuvwxyz._~-%"
)

// mayContain reports whether the text of the value can contain c, filter and encoding included.
func (v *Value) mayContain(hole *Placeholder, c byte) bool {
	if hole.Optional && c == '%' && v.marksEmpty() {
		return true
	}
	return strings.IndexByte(v.alphabet(hole.Filter), c) >= 0
}

// marksEmpty reports whether an empty text may be written as a lone percent sign where the value is optional: nil, which is
// nothing there, is another value than a pointer to an empty one.
func (v *Value) marksEmpty() bool {
	switch v.Kind {
	case KindString:
		return v.Deref
	case KindBasic:
		return v.Deref && v.kinds&setString != 0
	}
	return v.Kind == KindText || v.Kind == KindStringer
}

// mayBeEmpty reports whether an optional value can be written as nothing: it may be nil, be read through a pointer that is
// nil, or be an empty text. A plain number or bool always has a text, whatever ? says.
func (v *Value) mayBeEmpty() bool {
	switch v.Kind {
	case KindString, KindText, KindStringer:
		return true
	case KindBasic:
		if v.kinds&setString != 0 {
			return true
		}
	}
	return v.Deref || slices.ContainsFunc(v.Steps, func(s Step) bool { return s.Pointer })
}

func (v *Value) alphabet(f Filter) string {
	switch f {
	case FilterHash:
		return digits + "abcdef"
	case FilterLower:
		return lowered
	}
	switch v.Kind {
	case KindInt, KindTime:
		return digits + "-"
	case KindUint, KindLen:
		return digits
	case KindBool:
		return "truefalse"
	case KindBasic:
		return v.kinds.alphabet()
	}
	return encoded
}

func (s kindSet) alphabet() string {
	a := ""
	if s&setString != 0 {
		a += encoded
	}
	if s&setInt != 0 {
		a += "-"
	}
	if s&(setInt|setUint) != 0 {
		a += digits
	}
	if s&setBool != 0 {
		a += "truefalse"
	}
	return a
}
