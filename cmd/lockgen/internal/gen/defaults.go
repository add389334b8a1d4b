package gen

import (
	"fmt"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
)

// packageDefaults are the //lock:default lines by package. A folder may hold several: its own and that of tests.
type packageDefaults map[packageID][]*directive.Defaults

type packageID struct{ dir, name string }

// addDefaults notes the defaults of a package, if every build holds the line: functions of other files depend on it.
func (g *generator) addDefaults(all packageDefaults, c *candidate, s set, d *directive.Defaults) {
	refuse := func(pos, end token.Pos, format string, args ...any) {
		g.problems = append(g.problems, problemAt(g.files.fset, pos, end, "default", format, args...))
	}
	switch {
	case s.test:
		refuse(d.Pos(), d.End(), "//lock:default stands in a test file, and other builds would not have these defaults: move it "+
			"to a file that every build holds")
	case s.constraint != nil:
		refuse(d.Pos(), d.End(), "//lock:default stands in a file that only some builds hold (%s): move it to one without "+
			"constraints", s.buildText())
	}
	if out := d.Out; out != nil {
		if err := checkOut(out.Value); err != nil {
			refuse(out.ValuePos, out.ValueEnd, "out=%s: %v", out.Value, err)
		}
	}
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

var outName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// checkOut tells what is wrong with the name of an output: it must not say where the file is built.
func checkOut(name string) error {
	switch {
	case strings.HasSuffix(name, ".go"):
		return fmt.Errorf("the name is without .go: write out=%s", strings.TrimSuffix(name, ".go"))
	case !outName.MatchString(name) || strings.HasSuffix(name, "."):
		return fmt.Errorf("it is no name for a Go file: take letters, digits, and _ . - between them")
	case strings.HasSuffix(name, "_test"):
		return fmt.Errorf("the file would belong to tests: lockgen adds _test where that is so")
	case nameConstraint(name+".go") != nil:
		return fmt.Errorf("the go command would build the file for %s only: end the name otherwise, such as %s_gen",
			nameConstraint(name+".go"), name)
	}
	return nil
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
