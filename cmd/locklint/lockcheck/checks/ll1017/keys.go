package ll1017

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
)

// checkKeys reports keys of different functions that can be the same text although nobody said so: those of the package
// among each other and with those of the packages that it is built from, and in a program those of two packages that know
// nothing of each other.
func checkKeys(r *check.Reporter) {
	own := r.Index.Own
	for i, second := range own {
		for _, first := range own[:i] {
			if first.Func == second.Func {
				continue
			}
			if example, ok := directive.Collide(first.Pattern, second.Pattern); ok {
				collision(r, first, second, example)
				break
			}
		}
	}
	imported := r.Index.Imported
	paths := slices.Sorted(maps.Keys(imported))
	for _, key := range own {
		withImported(r, key, imported, paths)
	}
	if r.Pass.Pkg.Name() != "main" {
		return
	}
	for i, second := range paths {
		for _, first := range paths[:i] {
			a, b := imported[first], imported[second]
			if !slices.Contains(a.Imports, second) && !slices.Contains(b.Imports, first) { // else one of them has reported it
				between(r, first, second, a, b)
			}
		}
	}
}

// collision reports two keys of the package.
func collision(r *check.Reporter, first, second guards.OwnKey, example string) {
	r.Report(analysis.Diagnostic{
		Pos: second.Pos, End: second.End,
		Message: fmt.Sprintf("the key can be that of %s at %s, such as %q, %s", first.Func.Decl.Name.Name,
			r.Place(first.Pos, second.Pos), example, consequence(second.Pattern, first.Pattern)),
		Related: []analysis.RelatedInformation{{Pos: first.Pos, Message: "the other key"}},
	})
}

// consequence is what comes of two keys that can be the same, and what to do.
func consequence(here, there directive.Pattern) string {
	if text := mixed(here, there); text != "" {
		return "with " + text
	}
	return "so the two never run at the same time; give each its own key, or say that it is meant: shared=\"why\" in both, or " +
		"key=@Const in both"
}

// withImported reports a key of the package that can be one of another package.
func withImported(r *check.Reporter, key guards.OwnKey, imported map[string]*guards.Keys, paths []string) {
	for _, path := range paths {
		for _, other := range imported[path].Keys {
			if example, ok := directive.Collide(other.Pattern, key.Pattern); ok {
				r.Report(analysis.Diagnostic{
					Pos: key.Pos, End: key.End,
					Message: fmt.Sprintf("the key can be the key %s of %s (%s), such as %q, %s", other.Pattern.Template,
						other.Function, other.Place, example, consequence(key.Pattern, other.Pattern)),
				})
				return
			}
		}
	}
}

// between reports the first keys of two imported packages that can be the same.
func between(r *check.Reporter, first, second string, a, b *guards.Keys) {
	for _, y := range b.Keys {
		for _, x := range a.Keys {
			if example, ok := directive.Collide(x.Pattern, y.Pattern); ok {
				pos, end := importOf(r.Pass.Files, second, first)
				r.Report(analysis.Diagnostic{
					Pos: pos, End: end,
					Message: fmt.Sprintf("in this program the key %s of %s (%s) can be the key %s of %s (%s), such as %q, %s",
						y.Pattern.Template, y.Function, y.Place, x.Pattern.Template, x.Function, x.Place, example,
						consequence(y.Pattern, x.Pattern)),
				})
				return
			}
		}
	}
}

// importOf is where a program imports one of some packages, its package clause if it does so through others only.
func importOf(files []*ast.File, paths ...string) (pos, end token.Pos) {
	for _, path := range paths {
		for _, file := range files {
			for _, spec := range file.Imports {
				if text, err := strconv.Unquote(spec.Path.Value); err == nil && text == path {
					return spec.Path.Pos(), spec.Path.End()
				}
			}
		}
	}
	return files[0].Name.Pos(), files[0].Name.End()
}
