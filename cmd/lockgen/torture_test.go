package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
)

// TestTorture generates the corpus in testdata/torture, compares what is written with the goldens, vets it for two
// systems, and runs it: package probe calls every function and its wrapper and compares what they do.
func TestTorture(t *testing.T) {
	dir := copyCorpus(t)
	result, err := gen.Generate(context.Background(), gen.Config{Dir: dir, Patterns: []string{"./..."}, Env: corpusEnv(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Problems) > 0 {
		t.Fatalf("problems: %v", result.Problems)
	}
	for _, f := range result.Files {
		compareGolden(t, dir, f)
	}
	if _, err := gen.Commit(result.Files); err != nil {
		t.Fatal(err)
	}
	goCommand(t, dir, []string{"GOOS=windows", "CGO_ENABLED=0"}, "vet", "./built")
	if n := writePairs(t, dir); n < 60 {
		t.Errorf("the corpus has %d functions", n)
	}
	goCommand(t, dir, nil, "test", "-count=1", "./...")
	goCommand(t, dir, nil, "vet", "./...")
}

func corpusEnv(t *testing.T) []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local")
}

func goCommand(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(corpusEnv(t), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v go %s: %v\n%s", env, strings.Join(args, " "), err, out)
	}
}

func copyCorpus(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/torture")); err != nil {
		t.Fatal(err)
	}
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func compareGolden(t *testing.T, dir string, f gen.File) {
	t.Helper()
	rel, err := filepath.Rel(dir, f.Path)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "torture", rel+".golden")
	if *update {
		if err := os.WriteFile(golden, f.Want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(want, f.Want) {
		t.Errorf("%s is not as %s has it (%v); run with -update and look at the difference:\n%s", rel, golden, err, f.Want)
	}
}

// writePairs writes a test into every package of the corpus that checks its wrappers, and returns how many functions
// have one on any system.
func writePairs(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	byFile := map[string]*bytes.Buffer{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		found := directive.Find(file).Funcs
		n += len(found)
		if built, err := build.Default.MatchFile(filepath.Dir(path), filepath.Base(path)); err != nil || !built ||
			len(found) == 0 {
			return err
		}
		name := filepath.Join(filepath.Dir(path), "pairs_"+file.Name.Name+"_test.go")
		if byFile[name] == nil {
			byFile[name] = bytes.NewBufferString("package " + file.Name.Name +
				"\n\nimport (\n\"testing\"\n\"example.com/app/probe\"\n)\n\nfunc TestPairs(t *testing.T) { probe.Check(t, pairs) " +
				"}\n\nvar pairs = []probe.Pair{\n")
			if strings.Contains(string(mustRead(t, path)), "time.Duration // for") {
				byFile[name] = bytes.NewBufferString(strings.Replace(byFile[name].String(), "import (\n", "import (\n\"time\"\n",
					1))
			}
		}
		for _, a := range found {
			byFile[name].WriteString(pair(a))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range byFile {
		source, err := format.Source(append(text.Bytes(), "}\n"...))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if err := os.WriteFile(name, source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// pair is the composite literal of one function and its wrapper. //torture:inst[…] says what to instantiate them, or
// their receiver, with.
func pair(a *directive.Annotated) string {
	body := a.Decl.Name.Name
	written := ""
	if a.Directive.Func != nil {
		written = a.Directive.Func.Value
	}
	wrapper := directive.WrapperName(body, written)
	inst := ""
	for _, c := range a.Decl.Doc.List {
		if rest, ok := strings.CutPrefix(c.Text, "//torture:inst"); ok {
			inst = rest
		}
	}
	owner := ""
	if a.Decl.Recv != nil {
		owner = receiverText(a.Decl.Recv.List[0].Type) + inst
		if _, pointer := a.Decl.Recv.List[0].Type.(*ast.StarExpr); pointer {
			owner = "(*" + owner + ")"
		}
		owner, inst = owner+".", ""
	}
	return fmt.Sprintf("{Name: %q, Method: %t, Keys: %d, Skips: %t, Body: %s, Wrapper: %s},\n", body, owner != "",
		len(a.Directive.Keys), a.Directive.SkipsBusy(),
		owner+body+inst, owner+wrapper+inst)
}

func receiverText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverText(e.X)
	case *ast.IndexExpr:
		return receiverText(e.X)
	case *ast.IndexListExpr:
		return receiverText(e.X)
	}
	return e.(*ast.Ident).Name
}
