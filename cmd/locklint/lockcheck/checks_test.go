package lockcheck

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/checks/ll1015"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/checktest"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/suppress"
)

// TestMain makes the panics that the analyzers recover from visible: in a test they are bugs, not silence.
func TestMain(m *testing.M) {
	OnPanic = func(r any) {
		fmt.Fprintf(os.Stderr, "panic in an analyzer: %v\n%s", r, debug.Stack())
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// A folder is the testdata of a check, by import path.
type folder struct {
	comments []string // packages with want comments
	listed   []string // packages with a want.txt: a comment behind a directive would be part of it
	fixes    bool     // some file has a .golden file, which shows the fixes
}

// read finds the packages below a directory.
func read(t *testing.T, src string) folder {
	t.Helper()
	f := folder{}
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		code, _ := filepath.Glob(filepath.Join(path, "*.go"))
		want, _ := filepath.Glob(filepath.Join(path, "want.txt"))
		golden, _ := filepath.Glob(filepath.Join(path, "*.golden"))
		f.fixes = f.fixes || len(golden) > 0
		rel, err := filepath.Rel(src, path)
		switch name := filepath.ToSlash(rel); {
		case len(code) == 0:
		case len(want) > 0:
			f.listed = append(f.listed, name)
		default:
			f.comments = append(f.comments, name)
		}
		return err
	})
	if err != nil || len(f.comments)+len(f.listed) == 0 {
		t.Fatalf("%s: a check needs code that shows what it finds: %v", src, err)
	}
	return f
}

// TestChecks runs each check on the testdata in its folder: findings and silence stand side by side there.
func TestChecks(t *testing.T) {
	tree := checktest.Tree(t)
	for _, c := range Checks {
		t.Run(c.ID, func(t *testing.T) {
			f := read(t, filepath.Join("checks", strings.ToLower(c.ID), "testdata", "src"))
			f.comments = slices.DeleteFunc(f.comments, func(pkg string) bool { return pkg == "ll1015/reasons" })
			run := analysistest.Run
			if f.fixes {
				run = analysistest.RunWithSuggestedFixes
			}
			if len(f.comments) > 0 {
				run(t, tree, c.Analyzer, f.comments...)
			}
			for _, pkg := range f.listed {
				compare(t, tree, c, pkg)
			}
		})
	}
}

// compare compares findings with a package's want.txt.
func compare(t *testing.T, tree string, c *Check, pkg string) {
	t.Helper()
	var got []string
	for _, act := range checktest.Analyze(t, tree, c.Analyzer, pkg).Roots {
		if act.Err != nil {
			t.Fatal(act.Err)
		}
		for _, d := range act.Diagnostics {
			got = append(got, line(act.Package.Fset.Position(d.Pos).String(), d))
		}
	}
	slices.Sort(got)
	name := filepath.Join(tree, "src", filepath.FromSlash(pkg), "want.txt")
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, ""); text != string(want) {
		t.Errorf("findings differ from %s/want.txt:\n%s", pkg, text)
	}
}

func line(pos string, d analysis.Diagnostic) string {
	text := fmt.Sprintf("%s: %s", pos[strings.LastIndexAny(pos, `/\`)+1:], d.Message)
	for _, f := range d.SuggestedFixes {
		text += fmt.Sprintf(" [%s: %q]", f.Message, f.TextEdits[0].NewText)
	}
	return text + "\n"
}

// TestFacts runs the whole catalogue on packages that learn from each other.
func TestFacts(t *testing.T) {
	tree := checktest.Tree(t)
	analysistest.Run(t, tree, everything, "facts/user", "through/handler", "wrapped/user", "handedon/user", "ports", "ports/user",
		"lockers", "lockers/user")
	analysistest.Run(t, tree, index.Analyzer, "facts/store", "facts/middle")
}

// TestHardCode runs everything on code that other analyzers have stumbled over.
func TestHardCode(t *testing.T) {
	analysistest.Run(t, checktest.Tree(t), everything, "hard")
}

// TestQuiet runs the whole catalogue on shapes that look worse than they are.
func TestQuiet(t *testing.T) {
	analysistest.Run(t, checktest.Tree(t), everything, "quiet")
}

// TestGeneral runs the whole catalogue on locks that are made up of several functions, types and packages.
func TestGeneral(t *testing.T) {
	analysistest.Run(t, checktest.Tree(t), everything, "general", "general/lock", "general/needs", "general/leases")
}

// TestRecipes runs the whole catalogue on the hand-rolled locks of well-known articles.
func TestRecipes(t *testing.T) {
	analysistest.Run(t, checktest.Tree(t), everything, "recipes")
}

// everything reports what any check finds.
var everything = &analysis.Analyzer{
	Name:     "everything",
	Doc:      "all checks in one",
	Requires: []*analysis.Analyzer{suppress.Analyzer, index.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, c := range Checks {
			if _, err := c.Analyzer.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

// TestRelevance_noClient: a package without any client must not get to the expensive part.
func TestRelevance_noClient(t *testing.T) {
	relevant := map[string]bool{"clean": false, "facts/middle": true, "behind": true, "ll2002": true,
		"through/handler": true, "through/other": false}
	graph := checktest.Analyze(t, checktest.Tree(t), index.Analyzer, slices.Sorted(maps.Keys(relevant))...)
	for _, act := range graph.Roots {
		if got, want := act.Result.(*index.Index).Pkg != nil, relevant[act.Package.PkgPath]; got != want {
			t.Errorf("%s: SSA form built: %t, want %t", act.Package.PkgPath, got, want)
		}
	}
}

// TestLL1015_withoutReason: a want comment would be the reason.
func TestLL1015_withoutReason(t *testing.T) {
	act := checktest.Analyze(t, checktest.Tree(t), ll1015.Check.Analyzer, "ll1015/reasons").Roots[0]
	want := []string{"LL2002 the key is", "name the checks", "LL1001,LL2002 the key is"}
	if len(act.Diagnostics) != len(want) {
		t.Fatalf("%d findings, want %d", len(act.Diagnostics), len(want))
	}
	for i, d := range act.Diagnostics {
		if !strings.Contains(d.Message, "LL1015: this comment silences nothing") || !strings.Contains(d.Message, want[i]) {
			t.Errorf("finding %d is %q, want %q", i, d.Message, want[i])
		}
		if len(d.SuggestedFixes) > 0 {
			t.Errorf("finding %d has a fix, but nobody can make up a reason", i)
		}
	}
}

// TestLL1015_selection: a comment for a check that does not run is not unused.
func TestLL1015_selection(t *testing.T) {
	for _, c := range Checks {
		if c != ll1015.Check && !slices.Contains(ll1015.Check.Analyzer.Requires, c.Analyzer) {
			t.Errorf("it does not require %s", c.ID)
		}
	}
}
