package gen

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestInserter puts directives above the functions of packages that others wrote, by rote, and expects that each is
// either refused with a position or gets a wrapper that compiles, passes go vet and is formatted. What people write by
// hand is tested elsewhere; this finds what nobody thought of. LOCKGEN_SOAK=1 takes all functions.
func TestInserter(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles packages of other modules")
	}
	most := 500
	if os.Getenv("LOCKGEN_SOAK") != "" {
		most = 1 << 30
	}
	dir := writeModule(t, nil)
	modules := copyForeign(t, dir)
	if len(modules) < 8 {
		t.Fatalf("packages of %d modules", len(modules))
	}
	dropBroken(t, dir)
	inserted := insertAll(t, dir, most)
	refused := generateOrRefuse(t, dir)
	n := 0
	for kind, count := range refused {
		n += count
		t.Logf("refused: %d %s", count, kind)
		if explanation, _ := Explain(kind); explanation == "" || unjustified[kind] {
			t.Errorf("%d directives are refused as %s, which no function deserves that a directive was put on by rote", count, kind)
		}
	}
	t.Logf("%d directives in packages of %d modules, %d refused", inserted, len(modules), n)
	if n*2 > inserted {
		t.Error("most directives are refused")
	}
	expectFormatted(t, dir)
	run(t, dir, "build", "-trimpath", "./...")
	vetGenerated(t, dir)
}

// unjustified are the kinds that say that the inserter or lockgen is wrong: the directives themselves are well formed.
var unjustified = map[string]bool{"look-alike": true, "misplaced": true, "syntax": true, "load": true, "types": true,
	"key-missing": true, "ttl-missing": true, "option-unknown": true, "quote": true, "comma": true, "brace": true,
	"foreign": true, "collision": true, "unbuilt": true, "go-version": true, "pattern": true}

// A foreignPackage is what go list says of a package.
type foreignPackage struct {
	ImportPath, Dir                     string
	GoFiles, SFiles, HFiles, EmbedFiles []string
	CgoFiles                            []string
	Standard                            bool
	Module                              *struct {
		Path string
		Main bool
	}
}

// heavy are packages that take long to compile, for little that the others have not.
var heavy = regexp.MustCompile(`^(golang\.org/x/(tools|text)|modernc\.org|github\.com/(redis|alicebob|jackc/pgx))/`)

// copyForeign copies the packages of other modules that this project is built from into a module, under their own
// paths below its own, and returns the modules.
func copyForeign(t *testing.T, dir string) map[string]bool {
	t.Helper()
	var packages []foreignPackage
	modules, paths := map[string]bool{}, map[string]string{}
	list := json.NewDecoder(strings.NewReader(run(t, ".", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,HFiles,"+
		"EmbedFiles,CgoFiles,Standard,Module", ownModule+"/...")))
	for {
		var p foreignPackage
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || p.Module.Main || len(p.CgoFiles) > 0 || heavy.MatchString(p.ImportPath) {
			continue
		}
		packages = append(packages, p)
		modules[p.Module.Path] = true
		paths[p.ImportPath] = "example.com/app/" + p.ImportPath
	}
	for _, p := range packages {
		to := filepath.Join(dir, filepath.FromSlash(p.ImportPath))
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
			text := readFile(t, filepath.Join(p.Dir, name))
			if strings.HasSuffix(name, ".go") {
				text = withImports(t, text, paths)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(to, name), text)
		}
	}
	return modules
}

// withImports replaces import paths.
func withImports(t *testing.T, text []byte, paths map[string]string) []byte {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range slices.Backward(file.Imports) {
		path, _ := strconv.Unquote(spec.Path.Value)
		if to := paths[path]; to != "" {
			text = slices.Concat(text[:fset.Position(spec.Path.Pos()).Offset], []byte(strconv.Quote(to)),
				text[fset.Position(spec.Path.End()).Offset:])
		}
	}
	return text
}

// dropBroken removes packages that do not build in their new place, which is none of lockgen's doing.
func dropBroken(t *testing.T, dir string) {
	t.Helper()
	for range 5 {
		out, err := goCommand(dir, "build", "-trimpath", "./...")
		if err == nil {
			return
		}
		dropped := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^# example\.com/app/(\S+)`).FindAllStringSubmatch(out, -1) {
			dropped[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`(?m)^(\S+)/[^/\s]+\.go:\d+:\d+: (?:package|use of internal|no required)`).
			FindAllStringSubmatch(out, -1) {
			dropped[m[1]] = true
		}
		if len(dropped) == 0 {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		for pkg := range dropped {
			t.Logf("left out: %s", pkg)
			if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(pkg))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// insertAll puts directives above at most so many functions, spread over all files.
func insertAll(t *testing.T, dir string, most int) int {
	t.Helper()
	var sources []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	perFile := max(1, most/len(sources))
	n := 0
	for _, path := range sources {
		text := readFile(t, path)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		functions := 0
		rel, _ := filepath.Rel(dir, path)
		for i, decl := range slices.Backward(file.Decls) {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || functions == perFile {
				continue
			}
			at := fset.Position(fn.Pos()).Offset
			if at > 0 && text[at-1] != '\n' {
				continue
			}
			line := directiveFor(fmt.Sprintf("%s:%d", filepath.ToSlash(rel), i), fn)
			text = slices.Concat(text[:at], []byte(line+"\n"), text[at:])
			functions++
		}
		n += functions
		writeFile(t, path, text)
	}
	return n
}

// extras are options for some of the functions.
var extras = []string{"", ",wait=5s", ",wait=forever,maxhold=1h", ",busy=skip", ",renew=false", ",reentrant",
	`,cron="@daily"`, `,cron="0 3 * * *",tz=Europe/Berlin,retries=2,timeout=1m`, ",minhold=1s,key=second"}

// directiveFor makes up a directive: the name decides, so that every run is the same.
func directiveFor(name string, fn *ast.FuncDecl) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	seed := int(h.Sum32() >> 1)
	key := "k:" + strconv.Itoa(seed)
	for i, field := range fn.Type.Params.List {
		for _, id := range field.Names {
			basic, ok := field.Type.(*ast.Ident)
			if id.Name == "_" || !(ok && basicTypes[basic.Name]) && (seed/7+i)%3 != 0 {
				continue
			}
			key += ":{" + id.Name + "}"
		}
	}
	if fn.Recv != nil && len(fn.Recv.List[0].Names) == 1 && seed%11 == 0 && fn.Recv.List[0].Names[0].Name != "_" {
		key += ":{" + fn.Recv.List[0].Names[0].Name + "}"
	}
	return "//lock:key=" + key + ",ttl=30s" + extras[seed%len(extras)]
}

var basicTypes = set1("string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr byte rune bool")

// generateOrRefuse generates, and takes away the directives that are refused until none is. It returns how many were, by
// kind.
func generateOrRefuse(t *testing.T, dir string) map[string]int {
	t.Helper()
	refused := map[string]int{}
	var last []Problem
	for range 20 {
		cfg := configFor(dir)
		result, err := Generate(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Problems) == 0 {
			if _, err := Commit(result.Files); err != nil {
				t.Fatal(err)
			}
			again, err := Generate(context.Background(), cfg)
			if err != nil || len(again.Problems) > 0 {
				t.Fatalf("the second run: %v, %v", err, again.Problems)
			}
			for _, f := range again.Files {
				if f.changed() {
					t.Errorf("%s is stale right behind lockgen", f.Path)
				}
			}
			return refused
		}
		last = result.Problems
		for kind, count := range takeAway(t, dir, result.Problems) {
			refused[kind] += count
		}
	}
	t.Fatal("lockgen finds new problems each time: ", last)
	return nil
}

// takeAway removes the directives that problems point to. Every problem points to one.
func takeAway(t *testing.T, dir string, problems []Problem) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	byFile := map[string]map[int]string{}
	for _, p := range problems {
		if p.Line == 0 {
			t.Errorf("a problem without a place: %s", p)
			continue
		}
		if byFile[p.File] == nil {
			byFile[p.File] = map[int]string{}
		}
		byFile[p.File][p.Line] = cmp.Or(byFile[p.File][p.Line], p.Kind)
	}
	for name, lines := range byFile {
		path := filepath.Join(dir, name)
		text := strings.Split(string(readFile(t, path)), "\n")
		for _, n := range slices.Backward(slices.Sorted(maps.Keys(lines))) {
			at := directiveAbove(text, n)
			if at == 0 {
				t.Errorf("%s:%d: a problem of kind %s points to no directive", name, n, lines[n])
				continue
			}
			kinds[lines[n]]++
			text = slices.Delete(text, at-1, at)
		}
		writeFile(t, path, []byte(strings.Join(text, "\n")))
	}
	return kinds
}

// directiveAbove is the line of the directive that belongs to a line of a signature.
func directiveAbove(text []string, line int) int {
	for n := line; n > max(0, line-30); n-- {
		if strings.HasPrefix(text[n-1], "//lock:") {
			return n
		}
	}
	return 0
}

// expectFormatted compares the outputs with what gofmt makes of them.
func expectFormatted(t *testing.T, dir string) {
	t.Helper()
	n := 0
	for _, path := range generatedIn(t, dir) {
		text := readFile(t, path)
		if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
			t.Errorf("%s is not formatted: %v", path, err)
		}
		n++
	}
	if n < 20 {
		t.Errorf("only %d files", n)
	}
}

func generatedIn(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if outputPattern.MatchString(filepath.Base(path)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// vetGenerated fails for what go vet says about outputs. What it says about the sources was there before.
func vetGenerated(t *testing.T, dir string) {
	t.Helper()
	out, _ := goCommand(dir, "vet", "-trimpath", "./...")
	for line := range strings.Lines(out) {
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "vet: "), ":")
		if ok && outputPattern.MatchString(filepath.Base(name)) {
			t.Errorf("go vet: %s", line)
		}
	}
}

func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	if dir != "." {
		cmd.Env = configFor(dir).Env
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := goCommand(dir, args...)
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
