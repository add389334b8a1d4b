package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
)

// A Collision is two keys of different functions that can be the same text, and are not declared as shared: one function
// would wait for the other.
type Collision struct {
	First   KeyRef `json:"first"`
	Second  KeyRef `json:"second"`
	Example string `json:"example"` // a key that both can build
}

// A KeyRef names a key of a function.
type KeyRef struct {
	Package  string `json:"package"`
	Function string `json:"function"`
	Key      string `json:"key"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// Problem is the collision as a message at the second key.
func (c Collision) Problem() Problem {
	return Problem{File: c.Second.File, Line: c.Second.Line, Column: c.Second.Column, Kind: "shared-key",
		Message: fmt.Sprintf("the key %s of %s can be the key %s of %s (%s:%d), such as %q, so one would wait for the other: "+
			"change one, or say shared=\"why\" in both", c.Second.Key, c.Second.Function, c.First.Key, c.First.Function,
			files.Name(c.First.File), c.First.Line, c.Example)}
}

// A placedKey is a key with the function that it belongs to.
type placedKey struct {
	*unit
	pattern directive.Pattern
	at      KeyRef
}

// collisions compares the keys of all functions that one program may hold, test files aside.
func (g *generator) collisions() []Collision {
	var keys []placedKey
	for _, u := range g.units {
		if u.set.test {
			continue
		}
		for _, key := range u.Keys {
			if pattern, ok := u.Pattern(key); ok {
				keys = append(keys, placedKey{u, pattern, g.keyRef(u, key)})
			}
		}
	}
	slices.SortFunc(keys, func(a, b placedKey) int { return compareRefs(a.at, b.at) })
	var found []Collision
	for i, second := range keys {
		for _, first := range keys[:i] {
			if first.unit == second.unit {
				continue
			}
			example, ok := directive.Collide(first.pattern, second.pattern)
			if ok && g.together(first.unit, second.unit) {
				found = append(found, Collision{First: first.at, Second: second.at, Example: example})
			}
		}
	}
	return found
}

// together tells whether some build holds both functions.
func (g *generator) together(a, b *unit) bool {
	_, ok := platformFor(constraints.And(a.set.constraint, b.set.constraint), g.cfg.home)
	return ok
}

func (g *generator) keyRef(u *unit, key *directive.BoundKey) KeyRef {
	at := g.files.fset.PositionFor(key.Key.Pos, false)
	return KeyRef{Package: u.pkg.Path(), Function: u.funcName(), Key: keyText(key.Key),
		File: relative(g.cfg.Dir, at.Filename), Line: at.Line, Column: at.Column}
}

func compareRefs(a, b KeyRef) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

func keyText(k *directive.Key) string {
	if k.Const != nil {
		return k.Const.String()
	}
	return k.Template.String()
}

// funcName is the function, or the type and the method.
func (u *unit) funcName() string {
	if u.RecvType != "" {
		return u.RecvType + "." + u.Decl.Name.Name
	}
	return u.Decl.Name.Name
}
