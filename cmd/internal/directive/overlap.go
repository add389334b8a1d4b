package directive

import (
	"go/constant"
	"go/types"
	"strconv"
	"strings"
)

// Overlap decides whether two keys can be the same text for some values, and gives an example. The decision is exact on
// what values can be written as, with two exceptions that say yes too often: sizes of integers do not count, and any
// text is taken for one that MarshalText or String could return. A key whose values are not known overlaps with none.
func Overlap(a, b *BoundKey) (example string, ok bool) {
	x, y := a.automaton(), b.automaton()
	if x == nil || y == nil {
		return "", false
	}
	return meet(x, y)
}

// Prefix is what every text of the key begins with.
func (k *BoundKey) Prefix() string {
	switch ref := k.Key.Const; {
	case ref != nil && ref.Object != nil:
		return constant.StringVal(ref.Object.Val())
	case len(k.Parts) > 0 && k.Parts[0].Hole == nil:
		return k.Parts[0].Text
	}
	return ""
}

// automaton reads the texts of a key, nil if they are not known.
func (k *BoundKey) automaton() *automaton {
	a := &automaton{}
	at := a.state()
	if ref := k.Key.Const; ref != nil {
		if ref.Object == nil {
			return nil
		}
		a.text(at, constant.StringVal(ref.Object.Val()))
		return a
	}
	for _, part := range k.Parts {
		switch {
		case part.Hole == nil:
			at = a.text(at, part.Text)
		case part.Value == nil:
			return nil
		default:
			at = part.Value.read(a, at, part.Hole)
		}
	}
	return a
}

const (
	lowerHex = digits + "abcdef"
	upperHex = digits + "ABCDEF"
	hashLen  = 64
)

// read reads what the value can be written as, from a state on, and returns the state behind it.
func (v *Value) read(a *automaton, from int, hole *Placeholder) int {
	var ends []int
	kinds := v.kinds
	switch v.Kind {
	case KindString, KindText, KindStringer:
		kinds = setString
	case KindInt, KindTime:
		kinds = setInt
	case KindUint, KindLen:
		kinds = setUint
	case KindBool:
		kinds = setBool
	}
	switch {
	case hole.Filter == FilterHash:
		at := from
		for range hashLen {
			next := a.state()
			a.link(at, next, setOfBytes(lowerHex))
			at = next
		}
		ends = append(ends, at)
	default:
		ends = v.readKinds(a, from, kinds, hole.Filter)
	}
	end := a.state()
	for _, at := range ends {
		a.skip(at, end)
	}
	if hole.Optional {
		a.skip(from, end)
		if v.Kind == KindString || v.Kind == KindText || v.Kind == KindBasic {
			a.link(from, end, setOfBytes("%")) // a pointer to an empty string
		}
	}
	return end
}

func (v *Value) readKinds(a *automaton, from int, kinds kindSet, f Filter) []int {
	var ends []int
	if kinds&setString != 0 {
		start := from
		if v.Kind == KindBasic {
			start = a.text(from, "%s") // keeps a string apart from a number
		}
		ends = append(ends, readEscaped(a, start, f == FilterLower))
	}
	if kinds&(setInt|setUint) != 0 {
		ends = append(ends, readNumber(a, from, kinds&setInt != 0)...)
	}
	if kinds&setBool != 0 {
		ends = append(ends, a.text(from, "true"), a.text(from, "false"))
	}
	return ends
}

// readEscaped reads one byte or more, each as it is or after a percent sign.
func readEscaped(a *automaton, from int, lower bool) int {
	unescaped := strings.TrimSuffix(encoded, "%")
	if lower {
		unescaped = "abcdefghijklmnopqrstuvwxyz._~-" + digits
	}
	end := a.state()
	for _, at := range []int{from, end} {
		a.link(at, end, setOfBytes(unescaped))
		seconds := map[byte]*byteSet{}
		for c := range 256 {
			if strings.IndexByte(encoded[:len(encoded)-1], byte(c)) >= 0 {
				continue
			}
			first := upperHex[c>>4]
			if seconds[first] == nil {
				seconds[first] = &byteSet{}
			}
			seconds[first].add(upperHex[c&15])
		}
		percent := a.state()
		a.link(at, percent, setOfBytes("%"))
		for i := range len(upperHex) {
			if second := seconds[upperHex[i]]; second != nil {
				half := a.state()
				a.link(percent, half, setOfBytes(upperHex[i:i+1]))
				a.link(half, end, *second)
			}
		}
	}
	return end
}

// readNumber reads a whole number without leading zeros.
func readNumber(a *automaton, from int, signed bool) []int {
	zero, more := a.state(), a.state()
	a.link(from, more, setOfBytes(digits[1:]))
	a.link(from, zero, setOfBytes("0"))
	a.link(more, more, setOfBytes(digits))
	if signed {
		minus := a.state()
		a.link(from, minus, setOfBytes("-"))
		a.link(minus, more, setOfBytes(digits[1:]))
	}
	return []int{zero, more}
}

// sameKey tells whether two keys are one on purpose: both name the same constant, or both have the same template with
// values of the same types.
func sameKey(a, b *BoundKey) bool {
	if a.Key.Const != nil || b.Key.Const != nil {
		return a.Key.Const != nil && b.Key.Const != nil && a.Key.Const.Object != nil &&
			b.Key.Const.Object != nil && sameObject(a.Key.Const.Object, b.Key.Const.Object)
	}
	holes := 0
	if a.Key.Template.String() != b.Key.Template.String() || len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		x, y := a.Parts[i].Value, b.Parts[i].Value
		if (x == nil) != (y == nil) {
			return false
		}
		if x != nil {
			holes++
			if x.TypeText(nil) != y.TypeText(nil) {
				return false
			}
		}
	}
	return holes > 0 // the same text twice may be a copy
}

// sameObject compares by name: a generator may have checked a package twice.
func sameObject(a, b *types.Const) bool {
	return a.Name() == b.Name() && a.Pkg().Path() == b.Pkg().Path()
}

// TypeText is the type of the value as it is written in a package, with import paths where that is nil.
func (v *Value) TypeText(in *types.Package) string {
	if v.Type == nil {
		return "kind " + strconv.Itoa(int(v.Kind))
	}
	if in == nil {
		return types.TypeString(v.Type, nil)
	}
	return types.TypeString(v.Type, func(p *types.Package) string {
		if p.Path() == in.Path() {
			return ""
		}
		return p.Name()
	})
}
