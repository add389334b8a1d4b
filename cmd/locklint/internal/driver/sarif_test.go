package driver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// TestPrintSARIF_columns: columns count UTF-16 code units, bytes that are no UTF-8 as one each.
func TestPrintSARIF_columns(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a b.go")
	if err := os.WriteFile(name, []byte("package a\n/* é𝄞\xff */ var x = 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	at := place{File: name, Line: 2, Column: 15, EndLine: 2, EndColumn: 18} // "var" in bytes
	list := []finding{{
		ID: "LL2002", Severity: lockcheck.Warning, Message: "LL2002: m", place: at,
		Related:  []related{{"here", place{File: name, Line: 1, Column: 1, EndLine: 1, EndColumn: 8}}},
		Fix:      &fix{Message: "f", Edits: []edit{{File: name, Start: 24, End: 27, New: "const", at: at}}},
		Silenced: &silenced{By: "comment", Reason: "why"},
	}}
	var out bytes.Buffer
	if err := printSARIF(&out, list, nil); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	r := log.Runs[0].Results[0]
	want := sarifRegion{StartLine: 2, StartColumn: 12, EndLine: 2, EndColumn: 15}
	artifact := sarifArtifact{URI: "a%20b.go", URIBaseID: baseID}
	if got := r.Locations[0].Physical; got.Region != want || got.Artifact != artifact {
		t.Errorf("the place is %+v, want a%%20b.go, %+v", got, want)
	}
	if got := r.Fixes[0].Changes[0].Replacements[0]; got.Deleted != want || got.Inserted.Text != "const" {
		t.Errorf("the fix replaces %+v", got)
	}
	if r.Level != "warning" || r.Suppressions[0] != (sarifSuppression{"inSource", "accepted", "why"}) {
		t.Errorf("level %s, suppressions %v", r.Level, r.Suppressions)
	}
	rule := log.Runs[0].Tool.Driver.Rules[r.RuleIndex]
	if rule.ID != "LL2002" || rule.HelpURI == "" || rule.Help.Markdown == "" ||
		rule.DefaultConfiguration.Level != "error" {
		t.Errorf("rule %d is %+v", r.RuleIndex, rule)
	}
	if len(r.Related) != 1 || *r.Related[0].ID != 0 || r.Related[0].Message.Text != "here" {
		t.Errorf("the related places are %+v", r.Related)
	}
}
