package lockcheck

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

func TestLL1015(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), ll1015.Analyzer, "ll1015")
}

// TestLL1015_withoutReason: a want comment would be the reason.
func TestLL1015_withoutReason(t *testing.T) {
	act := analyze(t, ll1015.Analyzer, "ll1015/reasons").Roots[0]
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
	for _, req := range ll1015.Analyzer.Requires[1:] {
		if c := Lookup(req.Name); c == nil || c == ll1015 {
			t.Errorf("it requires %s", req.Name)
		}
	}
	if got, want := len(ll1015.Analyzer.Requires), len(Checks); got != want {
		t.Errorf("it requires %d analyzers, want the comments and the %d other checks", got, want-1)
	}
}
