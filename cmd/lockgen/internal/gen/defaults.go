package gen

import (
	"fmt"
	"go/token"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
)

// packageDefaults are the //lock:default lines by package. A folder may hold several: its own and that of tests.
type packageDefaults map[packageID][]*directive.Defaults

type packageID struct{ dir, name string }

// addDefaults notes the defaults of a package.
func (g *generator) addDefaults(all packageDefaults, c *candidate, d *directive.Defaults) {
	g.problems = append(g.problems, fromDirective(g.files.fset, d.Place(c.name, c.file))...)
	id := packageID{c.folder.dir, c.file.Name.Name}
	all[id] = append(all[id], d)
}

// applyDefaults brings the defaults of each package into its directives.
func (g *generator) applyDefaults(all packageDefaults) {
	chosen := map[packageID]*directive.Defaults{}
	place := func(pos token.Pos) string {
		at := g.files.fset.PositionFor(pos, false)
		return fmt.Sprintf("%s:%d", files.Name(filepath.Base(at.Filename)), at.Line)
	}
	for id, list := range all {
		var problems []directive.Problem
		chosen[id], problems = directive.OnePerPackage(list, place)
		g.problems = append(g.problems, fromDirective(g.files.fset, problems)...)
	}
	for _, a := range g.found {
		d := chosen[packageID{a.folder.dir, a.file.Name.Name}]
		if a.Apply(d); d != nil && d.Out != nil {
			a.set.out = d.Out.Value
		}
		g.problems = append(g.problems, fromDirective(g.files.fset, a.Problems)...)
	}
}

// defaultsAt is where the defaults of a function stand, "" if its package has none.
func (g *generator) defaultsAt(u *unit) string {
	d := u.Directive.Defaults
	if d == nil {
		return ""
	}
	at := g.files.fset.PositionFor(d.Pos(), false)
	return fmt.Sprintf("%s:%d", relative(g.cfg.Dir, at.Filename), at.Line)
}
