package ssax

import (
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// SoleValue is what a variable holds if it is assigned only once, else the value itself.
func SoleValue(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return v
	}
	cell, ok := CellOf(load.X).(*ssa.Alloc)
	if !ok {
		return v
	}
	if stored, ok := OnlyStore(cell); ok {
		return stored
	}
	return v
}

// ThroughConversions is what a value was before it was converted.
func ThroughConversions(v ssa.Value) ssa.Value {
	for {
		switch x := SoleValue(v).(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		default:
			return x
		}
	}
}

// SameFile reports whether two positions lie in one file.
func SameFile(fset *token.FileSet, a, b token.Pos) bool { return fset.File(a) == fset.File(b) }

// GlobalInit is the value that the package's initialiser stores into a variable, nil if it is not in sight.
func GlobalInit(g *ssa.Global) ssa.Value {
	init := g.Pkg.Func("init")
	if init == nil {
		return nil
	}
	for _, b := range init.Blocks {
		for _, instr := range b.Instrs {
			if st, ok := instr.(*ssa.Store); ok && st.Addr == g {
				return st.Val
			}
		}
	}
	return nil
}

// Embedded is the content of the file behind a variable with a //go:embed directive.
func Embedded(g *ssa.Global) (string, bool) {
	name, ok := embedPattern(g)
	if !ok {
		return "", false
	}
	source := g.Pkg.Prog.Fset.Position(g.Pos()).Filename
	text, err := os.ReadFile(filepath.Join(filepath.Dir(source), filepath.FromSlash(name)))
	return string(text), err == nil
}

// embedPattern finds the directive on the line above a variable. The syntax tree of another package is not at hand,
// its text is.
func embedPattern(g *ssa.Global) (string, bool) {
	at := g.Pkg.Prog.Fset.Position(g.Pos())
	if at.Line < 2 {
		return "", false
	}
	source, err := os.ReadFile(at.Filename)
	if err != nil {
		return "", false
	}
	lines := strings.Split(string(source), "\n")
	if at.Line > len(lines) {
		return "", false
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(lines[at.Line-2]), "//go:embed ")
	return strings.Trim(strings.TrimSpace(name), `"`), ok
}
