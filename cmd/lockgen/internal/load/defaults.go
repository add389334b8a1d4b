package load

import (
	"fmt"
	"go/token"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// packageDefaults are the //lock:default lines by package. A folder may hold several: its own and that of tests.
type packageDefaults map[packageID][]*directive.Defaults

type packageID struct{ dir, name string }

// addDefaults notes the defaults of a package.
func (l *loader) addDefaults(all packageDefaults, c *candidate, d *directive.Defaults) {
	l.Problems = append(l.Problems, problem.FromDirective(l.Files.Fset, d.Place(c.name, c.file))...)
	id := packageID{c.folder.Dir, c.file.Name.Name}
	all[id] = append(all[id], d)
}

// applyDefaults brings the defaults of each package into its directives.
func (l *loader) applyDefaults(all packageDefaults) {
	chosen := map[packageID]*directive.Defaults{}
	place := func(pos token.Pos) string {
		at := l.Files.Fset.PositionFor(pos, false)
		return fmt.Sprintf("%s:%d", files.Name(filepath.Base(at.Filename)), at.Line)
	}
	for id, list := range all {
		var problems []directive.Problem
		chosen[id], problems = directive.OnePerPackage(list, place)
		l.Problems = append(l.Problems, problem.FromDirective(l.Files.Fset, problems)...)
	}
	for _, a := range l.found {
		d := chosen[packageID{a.folder.Dir, a.file.Name.Name}]
		if a.Apply(d); d != nil && d.Out != nil {
			a.set.Out = d.Out.Value
		}
		l.Problems = append(l.Problems, problem.FromDirective(l.Files.Fset, a.Problems)...)
	}
}
