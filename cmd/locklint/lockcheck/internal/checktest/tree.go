// Package checktest helps the tests of the checks.
package checktest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Tree puts a GOPATH together: the testdata of all checks, and what they share, such as the stand-ins of the clients.
// It may be called from any package below lockcheck.
func Tree(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob(filepath.Join(Lockcheck(t), "checks", "*", "testdata", "src"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("the checks have no testdata: %v", err)
	}
	for _, src := range append(sources, filepath.Join(Lockcheck(t), "testdata", "src")) {
		if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(src)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Lockcheck is the folder of package lockcheck.
func Lockcheck(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Base(dir) != "lockcheck" {
		if filepath.Dir(dir) == dir {
			t.Fatal("this is no package below lockcheck")
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// Analyze runs an analyzer on packages of a tree, also on those that do not compile, without judging the outcome.
func Analyze(t testing.TB, tree string, a *analysis.Analyzer, patterns ...string) *checker.Graph {
	t.Helper()
	return AnalyzeAll(t, tree, []*analysis.Analyzer{a}, patterns...)
}

// AnalyzeAll is Analyze for several analyzers.
func AnalyzeAll(t testing.TB, tree string, analyzers []*analysis.Analyzer, patterns ...string) *checker.Graph {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Dir:  tree,
		Env:  append(os.Environ(), "GOPATH="+tree, "GO111MODULE=off", "GOPROXY=off", "GOWORK=off", "GOFLAGS="),
	}, patterns...)
	if err != nil || len(pkgs) == 0 {
		t.Fatalf("cannot load %v: %v", patterns, err)
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}
