package recipes

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

var (
	ignoreMark = regexp.MustCompile(`^\s*//locklint:ignore (\S+) `)
	everyMark  = strings.NewReplacer("//locklint:ignore ", "//locklint:IGNORE ") // as long, and no mark
)

// finding is a line of this package and the check that finds something there.
type finding struct {
	file  string
	line  int
	check string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.check) }

// marks are the lines below the comments that keep locklint silent.
func marks(t *testing.T) (found []finding) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := ignoreMark.FindStringSubmatch(line); m != nil {
				found = append(found, finding{name, i + 2, m[1]})
			}
		}
	}
	return sorted(found)
}

func sorted(found []finding) []finding {
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// lint runs all checks on the package as if it had no such comments. They are changed as the files are parsed, and not
// in an overlay: with one, all dependencies are type checked from source, which takes seconds.
func lint(t *testing.T) (found []finding) {
	t.Helper()
	unmarked := func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
		return parser.ParseFile(fset, name, everyMark.Replace(string(src)), parser.ParseComments)
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, ParseFile: unmarked}, ".")
	if err != nil || packages.PrintErrors(pkgs) > 0 {
		t.Fatalf("cannot load the recipes: %v", err)
	}
	pkgs[0].Imports = nil                             // their types are known, and nothing else of them is needed
	semaphores := lockcheck.Lookup("LL2012").Analyzer // off by default
	graph, err := checker.Analyze(append(slices.Clip(lockcheck.Analyzers), semaphores), pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Errorf("%s: %v", act.Analyzer, act.Err)
		}
		for _, d := range act.Diagnostics {
			found = append(found, findingOf(act, d))
		}
	}
	return sorted(found)
}

func findingOf(act *checker.Action, d analysis.Diagnostic) finding {
	at := act.Package.Fset.Position(d.Pos)
	id, _, _ := strings.Cut(d.Message, ":")
	return finding{filepath.Base(at.Filename), at.Line, id}
}

// locklint finds every mistake that the recipes are marked with, at the marked line,
// and nothing else.
func TestRecipes_locklintFindsThem(t *testing.T) {
	want, got := marks(t), lint(t)
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("%s is not found", f)
		}
	}
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("%s is found, and not marked", f)
		}
	}
}

// Every row of the table names a check whose mark stands in the row's file, and no
// marked file is without a row.
func TestPitfalls_namesTheMarks(t *testing.T) {
	found := marks(t)
	for _, p := range Pitfalls {
		if p.Check == "" {
			continue // how it fails is not to be seen in what it does
		}
		if !slices.ContainsFunc(found, func(f finding) bool { return f.file == p.File && f.check == p.Check }) {
			t.Errorf("%s, %s: no mark for %s in %s", p.Recipe, p.Scenario, p.Check, p.File)
		}
		if lockcheck.Lookup(p.Check) == nil {
			t.Errorf("%s, %s: there is no check %s", p.Recipe, p.Scenario, p.Check)
		}
	}
	for _, f := range found {
		if !slices.ContainsFunc(Pitfalls, func(p Pitfall) bool { return f.file == p.File }) {
			t.Errorf("%s: the file is in no row of the table", f)
		}
	}
}
