package golangci

import (
	"slices"
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	_ "github.com/lockgen/lockgen/runtime" // testdata imports it, which go mod tidy does not see
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// analyzers gets the analyzers the way golangci-lint does.
func analyzers(t *testing.T, settings any) []*analysis.Analyzer {
	t.Helper()
	newPlugin, err := register.GetPlugin("locklint")
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlugin(settings)
	if err != nil {
		t.Fatal(err)
	}
	if p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Errorf("the load mode is %s", p.GetLoadMode())
	}
	list, err := p.BuildAnalyzers()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPlugin_finds runs the registered plugin on a package that forgets to release a lease.
func TestPlugin_finds(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule}, "./testdata/shop")
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		t.Fatal("the package does not compile")
	}
	graph, err := checker.Analyze(analyzers(t, nil), pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	related := 0
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Errorf("%s: %v", act.Analyzer.Name, act.Err)
		}
		for _, d := range act.Diagnostics {
			found = append(found, act.Analyzer.Name+": "+d.Message) // as golangci-lint prints it
			related += len(d.Related)
		}
	}
	if len(found) != 1 || !strings.HasPrefix(found[0], "LL1001: ") || strings.Count(found[0], "LL1001") != 1 {
		t.Errorf("the findings are %q, want the one lease that is not released, with its ID in front once", found)
	}
	if related > 0 {
		t.Errorf("%d related places: golangci-lint makes issues of them", related)
	}
}

func names(list []*analysis.Analyzer) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

func TestPlugin_settings(t *testing.T) {
	if got, want := names(analyzers(t, nil)), names(lockcheck.Analyzers); !slices.Equal(got, want) {
		t.Errorf("without settings %q run, want those that are on by default: %q", got, want)
	}
	for _, all := range []string{"all", "ALL"} {
		if got := analyzers(t, map[string]any{"enable": []string{all}}); len(got) != len(lockcheck.Checks) {
			t.Errorf("enable: [%s] runs %d checks, want %d", all, len(got), len(lockcheck.Checks))
		}
	}
	if err := analysis.Validate(analyzers(t, map[string]any{"enable": []string{"all"}})); err != nil {
		t.Error(err)
	}
	list := analyzers(t, map[string]any{"enable": []string{"LL1007", "ll2002"}, "disable": []string{"LL2002"}})
	if len(list) != 1 || list[0].Name != "LL1007" {
		t.Errorf("the analyzers are %v, want LL1007 alone", list)
	}
	for _, bad := range []map[string]any{
		{"enable": []string{"LL9999"}},
		{"enable": []string{"LL1001"}, "disable": []string{"LL1001"}},
		{"nosuch": 1},
	} {
		if _, err := New(bad); err == nil {
			t.Errorf("settings %v are accepted", bad)
		}
	}
}
