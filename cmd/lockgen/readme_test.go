package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
)

// A block is Go in README.md. What is refused there is to give a problem, everything else to compile.
type block struct {
	line    int
	refused bool
	code    string
}

func readmeBlocks(t *testing.T) []block {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside := false
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		switch info, fence := strings.CutPrefix(strings.TrimSpace(line), "```go"); {
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		case inside:
			blocks[len(blocks)-1].code += line
		case fence:
			inside = true
			blocks = append(blocks, block{line: n + 1, refused: info == " refused"})
		}
	}
	return blocks
}

// blockImports are the packages that a block may name without importing them.
var blockImports = []string{"context", "database/sql", "net/netip", "time", "github.com/lockgen/lockgen/jobs",
	"github.com/lockgen/lockgen/runtime"}

// file is the block as the file of a package, with the imports that it uses.
func (b block) file(t *testing.T) string {
	t.Helper()
	text := fmt.Sprintf("package readme%d\n\n%s", b.line, b.code)
	file, err := parser.ParseFile(token.NewFileSet(), "README.md", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("README.md:%d: %v", b.line, err)
	}
	if len(file.Imports) > 0 {
		return text
	}
	var specs []string
	ast.Inspect(file, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			for _, p := range blockImports {
				name := path.Base(p)
				if p == "github.com/lockgen/lockgen/runtime" {
					name = "lockrt"
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
					specs = append(specs, fmt.Sprintf("import %s %q\n", name, p))
				}
			}
		}
		return true
	})
	slices.Sort(specs)
	return fmt.Sprintf("package readme%d\n\n%s\n%s", b.line, strings.Join(slices.Compact(specs), ""), b.code)
}

// TestReadme generates every block of README.md, and compiles those that are not refused.
func TestReadme(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	counts := map[bool]int{}
	for _, b := range readmeBlocks(t) {
		counts[b.refused]++
		folder := "fine"
		if b.refused {
			folder = "refused"
		}
		folder = filepath.Join(dir, folder, fmt.Sprintf("readme%d", b.line))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "a.go"), []byte(b.file(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if counts[false] < 5 || counts[true] < 10 {
		t.Errorf("%d blocks, %d refused", counts[false], counts[true])
	}
	generateReadme(t, dir)
	goCommand(t, dir, nil, "vet", "./fine/...")
}

func generateReadme(t *testing.T, dir string) {
	config := gen.Config{Dir: dir, Patterns: []string{"./fine/..."}, Env: corpusEnv(t)}
	result, err := gen.Generate(context.Background(), config)
	if err != nil || len(result.Problems) > 0 {
		t.Fatalf("%v %v", result, err)
	}
	if _, err := gen.Commit(result.Files); err != nil {
		t.Fatal(err)
	}
	config.Patterns = []string{"./refused/..."}
	if result, err = gen.Generate(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, p := range result.Problems {
		seen[path.Base(path.Dir(filepath.ToSlash(p.File)))]++
	}
	for _, b := range readmeBlocks(t) {
		if n := seen[fmt.Sprintf("readme%d", b.line)]; b.refused && n != 1 {
			t.Errorf("README.md:%d: %d problems, want one: %v", b.line, n, result.Problems)
		}
	}
}
