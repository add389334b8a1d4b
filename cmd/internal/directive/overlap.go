package directive

import (
	"go/constant"
	"go/types"
	"strconv"
	"strings"
)

// Overlap decides whether two keys can be the same text for some values, and gives an example. The decision is exact on
// what values can be written as, with two exceptions that say yes too often: sizes of integers do not count, and any
// text is taken for one that MarshalText or String could return.
func Overlap(a, b Pattern) (example string, ok bool) { return meet(a.automaton(), b.automaton()) }

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

const (
	lowerHex = digits + "abcdef"
	upperHex = digits + "ABCDEF"
	hashLen  = 64
)

// read reads what the value can be written as, from a state on, and returns the state behind it.
func (p *PatternPart) read(a *automaton, from int) int {
	var ends []int
	kinds := kindSet(p.Kinds)
	switch p.Kind {
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
	case p.Filter == FilterHash:
		at := from
		for range hashLen {
			next := a.state()
			a.link(at, next, setOfBytes(lowerHex))
			at = next
		}
		ends = append(ends, at)
	default:
		ends = p.readKinds(a, from, kinds)
	}
	end := a.state()
	for _, at := range ends {
		a.skip(at, end)
	}
	if p.Optional {
		a.skip(from, end)
		if p.MarksEmpty {
			a.link(from, end, setOfBytes("%"))
		}
	}
	return end
}

func (p *PatternPart) readKinds(a *automaton, from int, kinds kindSet) []int {
	var ends []int
	if kinds&setString != 0 {
		start := from
		if p.Kind == KindBasic {
			start = a.text(from, "%s") // keeps a string apart from a number
		}
		ends = append(ends, readEscaped(a, start, p.Filter == FilterLower))
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
