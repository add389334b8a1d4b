package reference

import (
	"os"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// TestDocument_current: the committed document is what go generate would write.
func TestDocument_current(t *testing.T) {
	got, err := os.ReadFile("../../CHECKS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Document() {
		t.Error("cmd/locklint/CHECKS.md is out of date: run go generate ./cmd/locklint")
	}
}

// TestDocument_complete: every check has its anchor, its row and its text.
func TestDocument_complete(t *testing.T) {
	doc := Document()
	for _, c := range lockcheck.Checks {
		id := strings.ToLower(c.ID)
		for _, want := range []string{`<a id="` + id + `"></a>`, "](#" + id + ") |",
			"\n## " + c.ID + ": " + c.Title + "\n", c.Why()} {
			if !strings.Contains(doc, want) {
				t.Errorf("%s: the document lacks %q", c.ID, want)
			}
		}
	}
}
