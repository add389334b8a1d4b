package lockcheck

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// TestMain makes the panics that analyze recovers from visible: in a test they are bugs, not silence.
func TestMain(m *testing.M) {
	OnPanic = func(r any) {
		fmt.Fprintf(os.Stderr, "panic in analyze: %v\n%s", r, debug.Stack())
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// TestChecks runs each check on the packages that are named after it: findings and silence stand side by side in
// them, the packages with a .golden file show the fixes as well.
func TestChecks(t *testing.T) {
	runChecks(t, []checkTest{
		{ll1001, true, []string{"ll1001"}},
		{ll1003, true, []string{"ll1003/shop", "ll1003/user"}},
		{ll2001, false, []string{"ll2001", "versions/v6", "versions/v7", "versions/v8"}},
		{ll2002, false, []string{"ll2002", "behind"}},
		{ll2005, true, []string{"ll2005"}},
	})
}

// A checkTest is a check with the packages that show it, and whether their .golden files show fixes.
type checkTest struct {
	check    *Check
	fixes    bool
	packages []string
}

func runChecks(t *testing.T, tests []checkTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.check.ID, func(t *testing.T) {
			run := analysistest.Run
			if tt.fixes {
				run = analysistest.RunWithSuggestedFixes
			}
			run(t, analysistest.TestData(), tt.check.Analyzer, tt.packages...)
		})
	}
}

// TestFacts runs the whole catalogue on packages that learn from each other.
func TestFacts(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "facts/user", "through/handler")
	analysistest.Run(t, analysistest.TestData(), indexAnalyzer, "facts/store", "facts/middle")
}

// TestHardCode runs everything on code that other analyzers have stumbled over.
func TestHardCode(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "hard")
}

// everything reports what any check finds.
var everything = &analysis.Analyzer{
	Name:     "everything",
	Doc:      "all checks in one",
	Requires: []*analysis.Analyzer{ignoresAnalyzer, indexAnalyzer},
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
	for _, act := range analyze(t, indexAnalyzer, slices.Sorted(maps.Keys(relevant))...).Roots {
		if got, want := act.Result.(*index).pkg != nil, relevant[act.Package.PkgPath]; got != want {
			t.Errorf("%s: SSA form built: %t, want %t", act.Package.PkgPath, got, want)
		}
	}
}

// analyze runs an analyzer on a package of testdata, also on one that does not compile, without judging the outcome.
func analyze(t *testing.T, a *analysis.Analyzer, patterns ...string) *checker.Graph {
	t.Helper()
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Dir:  testdata,
		Env:  append(os.Environ(), "GOPATH="+testdata, "GO111MODULE=off", "GOPROXY=off", "GOWORK=off", "GOFLAGS="),
	}, patterns...)
	if err != nil || len(pkgs) == 0 {
		t.Fatalf("cannot load %v: %v", patterns, err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{a}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}
