package lockcheck

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

func TestAnalyzers_valid(t *testing.T) {
	if err := analysis.Validate(Analyzers); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(Checks, func(a, b *Check) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the catalogue is not in the order of the IDs")
	}
}

// TestExplanation_complete: each page says why, how it fails as a timeline, and how to fix it with and without this
// library.
func TestExplanation_complete(t *testing.T) {
	for _, c := range Checks {
		text := c.Explanation()
		if !strings.HasPrefix(text, "# "+c.ID+": "+c.Title+"\n") {
			t.Errorf("%s: the heading is not its title", c.ID)
		}
		for _, part := range []string{"## How it fails", "client A", "client B", "## How to fix it", "by hand", "//lock:", "## What is reported"} {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
				t.Errorf("%s: the page lacks %q", c.ID, part)
			}
		}
	}
}
