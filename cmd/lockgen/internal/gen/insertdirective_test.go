package gen

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

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

var basicTypes = wordSet("string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr byte rune bool")

// generateOrRefuse generates, and takes away the directives that are refused until none is. It returns how many were, by
// kind.
func generateOrRefuse(t *testing.T, dir string) map[string]int {
	t.Helper()
	refused := map[string]int{}
	var last []problem.Problem
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
func takeAway(t *testing.T, dir string, problems []problem.Problem) map[string]int {
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

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
