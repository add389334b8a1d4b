package directive

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
)

// Place reports defaults that stand in a file that not every build holds, since functions of other files depend on them, and
// a name of the output that would say where it is built. Name is that of the file.
func (d *Defaults) Place(name string, file *ast.File) []Problem {
	var found problems
	constraint := constraints.Of(name, file)
	switch {
	case strings.HasSuffix(name, "_test.go"):
		found.add(d.Pos(), d.End(), "default", "//lock:default stands in a test file, and other builds would not have these "+
			"defaults: move it to a file that every build holds")
	case constraint != nil:
		found.add(d.Pos(), d.End(), "default", "//lock:default stands in a file that only some builds hold (%s): move it to one "+
			"without constraints", constraint)
	}
	if out := d.Out; out != nil {
		if err := checkOut(out.Value); err != nil {
			found.add(out.ValuePos, out.ValueEnd, "default", "out=%s: %v", out.Value, err)
		}
	}
	return found.sorted()
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
	case constraints.OfName(name+".go") != nil:
		return fmt.Errorf("the go command would build the file for %s only: end the name otherwise, such as %s_gen",
			constraints.OfName(name+".go"), name)
	}
	return nil
}
