package ssax

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// TestReaches_goesEveryWay compares with a walk through all ways, in functions that jump about.
func TestReaches_goesEveryWay(t *testing.T) {
	for seed := range uint64(20) {
		fn := jumping(t, seed)
		for _, from := range fn.Blocks {
			after := map[*ssa.BasicBlock]bool{}
			var walk func(b *ssa.BasicBlock)
			walk = func(b *ssa.BasicBlock) {
				for _, s := range b.Succs {
					if !after[s] {
						after[s] = true
						walk(s)
					}
				}
			}
			walk(from)
			for _, to := range fn.Blocks {
				if got := Reaches(from, to); got != after[to] {
					t.Fatalf("seed %d: block %d reaches %d: %v, want %v", seed, from.Index, to.Index, got, after[to])
				}
			}
		}
	}
}

// jumping is a function whose blocks jump to each other at random.
func jumping(t *testing.T, seed uint64) *ssa.Function {
	t.Helper()
	const labels = 30
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("package p\n\nfunc f(n func() int) {\n\tdefer n()\n")
	for i := range labels {
		name := func() string { return "l" + strconv.Itoa(r.IntN(labels)) }
		b.WriteString("l" + strconv.Itoa(i) + ":\n\tn()\n\tif n() > 0 {\n\t\tgoto " + name() + "\n\t}\n")
		switch r.IntN(6) {
		case 0:
			b.WriteString("\tgoto " + name() + "\n")
		case 1:
			b.WriteString("\tif n() < 0 {\n\t\treturn\n\t}\n")
		}
	}
	for i := range labels { // each label is used
		b.WriteString("\tif n() == " + strconv.Itoa(i) + " {\n\t\tgoto l" + strconv.Itoa(i) + "\n\t}\n")
	}
	b.WriteString("}\n")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", b.String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, _, err := ssautil.BuildPackage(&types.Config{Importer: importer.Default()}, fset, types.NewPackage("p", "p"),
		[]*ast.File{file}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return pkg.Func("f")
}
