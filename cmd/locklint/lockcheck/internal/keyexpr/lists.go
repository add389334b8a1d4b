package keyexpr

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// maxElements is how many different elements of a list are told apart.
const maxElements = 4

// Elements describes what is put into a list that its function makes itself: the elements of a literal, of appends, and
// of assignments to an index, each once. known is false if something else may be in the list.
func Elements(list ssa.Value) (elements []Expr, known bool) { return elementsAt(list, 0) }

func elementsAt(list ssa.Value, depth int) (elements []Expr, known bool) {
	values, known := ssax.ElementsOf(list)
	if !known || depth > MaxDepth {
		return nil, false
	}
	seen := map[string]bool{}
	for _, v := range values {
		k := At(v, depth+1)
		if !k.Known() {
			return nil, false
		}
		if !seen[k.String()] {
			seen[k.String()] = true
			elements = append(elements, k)
		}
	}
	return elements, len(elements) <= maxElements
}

// elementKey describes an element of a list that the function makes itself, if all of them are made alike.
func elementKey(element, list ssa.Value, depth int) Expr {
	if all, known := elementsAt(list, depth); known && len(all) == 1 {
		return all[0]
	}
	return OfLocal(element)
}

// rangedKey describes the key that a loop over a map has in hand, if all of them are made alike.
func rangedKey(key *ssa.Extract, next *ssa.Next, depth int) Expr {
	if over, ok := next.Iter.(*ssa.Range); ok {
		if values, known := ssax.KeysOf(over.X); known {
			return sole(values, key, depth)
		}
	}
	return OfLocal(key)
}

func sole(values []ssa.Value, v ssa.Value, depth int) Expr {
	only := Expr{}
	for i, of := range values {
		k := At(of, depth+1)
		if !k.Known() || i > 0 && k.String() != only.String() {
			return OfLocal(v)
		}
		only = k
	}
	if len(values) == 0 {
		return OfLocal(v)
	}
	return only
}
