package answers

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
)

// TestDependsOn_manyWays: in a function whose values are made of all that came before, the number of ways from one to
// another is beyond counting.
func TestDependsOn_manyWays(t *testing.T) {
	var b strings.Builder
	b.WriteString("package p\n\nfunc mix(a, b, c, d, e, f, g, h int) int { return a }\n\n" +
		"func f() int {\n\tx := mix(1, 2, 3, 4, 5, 6, 7, 8)\n")
	b.WriteString("\tlast := mix(x, x, x, x, x, x, x, x)\n\tfor range 9 {\n")
	for range 40 {
		b.WriteString("\t\tlast = mix(last, x, last, x, last, x, last, x)\n\t\tx = mix(x, last, x, last, x, last, x, last)\n")
	}
	b.WriteString("\t}\n\treturn last\n}\n")
	fn := function(t, b.String(), "f")
	var last *ssa.Call
	for _, block := range fn.Blocks {
		for _, instr := range block.Instrs {
			if call, ok := instr.(*ssa.Call); ok {
				last = call
			}
		}
	}
	if DependsOn(last, &rediscmd.Command{Call: new(ssa.Call)}) {
		t.Error("it depends on a call that is not there")
	}
	if !DependsOn(last, &rediscmd.Command{Call: last}) {
		t.Error("a call depends on itself")
	}
}

func function(t *testing.T, text, name string) *ssa.Function {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := &types.Config{Importer: importer.Default()}
	pkg, _, err := ssautil.BuildPackage(conf, fset, types.NewPackage("p", "p"), []*ast.File{file}, 0)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return pkg.Func(name)
}
