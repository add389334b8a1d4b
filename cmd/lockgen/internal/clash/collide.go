package clash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// A Collision is two keys of different functions that can be the same text, and are not declared as shared: one function
// would wait for the other. Two of one function are one if they differ in their permits.
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
	Permits  int    `json:"permits,omitempty"` // that it is held by
}

// Problem is the collision as a message at the second key.
func (c Collision) Problem() problem.Problem {
	return problem.Problem{File: c.Second.File, Line: c.Second.Line, Column: c.Second.Column, Kind: "shared-key",
		Message: fmt.Sprintf("the key %s of %s can be the key %s of %s (%s:%d), such as %q, %s", c.Second.Key,
			c.Second.Function, c.First.Key, c.First.Function, files.Name(c.First.File), c.First.Line, c.Example, c.remedy())}
}

// remedy is what comes of it, and what to do.
func (c Collision) remedy() string {
	if here, there := c.Second.Permits, c.First.Permits; here != there {
		return fmt.Sprintf("with %s here and %s there: give both the same permits, or keys of their own",
			directive.Permits(here), directive.Permits(there))
	}
	return "so one would wait for the other: change one, or say shared=\"why\" in both"
}

// A placedKey is a key with the function that it belongs to.
type placedKey struct {
	*bound.Func
	pattern directive.Pattern
	at      KeyRef
}

// Collisions compares the keys of all functions that one program may hold, test files aside.
func Collisions(p *load.Program) []Collision {
	var keys []placedKey
	for _, u := range p.Funcs {
		if u.Set.Test {
			continue
		}
		for _, key := range u.Keys {
			if pattern, ok := u.Pattern(key); ok {
				keys = append(keys, placedKey{u, pattern, Ref(p, u, key)})
			}
		}
	}
	slices.SortFunc(keys, func(a, b placedKey) int { return CompareRefs(a.at, b.at) })
	var found []Collision
	for i, second := range keys {
		for _, first := range keys[:i] {
			if first.Func == second.Func && first.pattern.Permits == second.pattern.Permits {
				continue // the function holds both, or takes one that is named twice once
			}
			example, ok := directive.Collide(first.pattern, second.pattern)
			if ok && together(p, first.Func, second.Func) {
				found = append(found, Collision{First: first.at, Second: second.at, Example: example})
			}
		}
	}
	return found
}

// together tells whether some build holds both functions.
func together(p *load.Program, a, b *bound.Func) bool {
	return p.Built(a.Set.Constraint, b.Set.Constraint)
}

// Ref is where a key of a function stands.
func Ref(p *load.Program, u *bound.Func, key *directive.BoundKey) KeyRef {
	at := p.Files.Fset.PositionFor(key.Key.Pos, false)
	return KeyRef{Package: u.Pkg.Path(), Function: u.QualifiedName(), Key: KeyText(key.Key),
		File: files.Relative(p.Config.Dir, at.Filename), Line: at.Line, Column: at.Column,
		Permits: key.Key.Limit()}
}

// CompareRefs puts keys into the order of their files.
func CompareRefs(a, b KeyRef) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// KeyText is a key as the directive has it: a template, or a constant's name.
func KeyText(k *directive.Key) string {
	if k.Const != nil {
		return k.Const.String()
	}
	return k.Template.String()
}
