package lockcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

// TestDirectiveChecks compares findings with want.txt: a want comment cannot stand behind a directive, it would be part
// of it.
func TestDirectiveChecks(t *testing.T) {
	tests := []struct {
		check *Check
		pkg   string
	}{
		{ll1004, "ll1004"}, {ll1004, "ll1004/orphans"}, {ll1005, "ll1005/bad"}, {ll1005, "ll1005/broken"},
		{ll1016, "ll1016/directives"}, {ll1017, "ll1017/keys"},
	}
	for _, tt := range tests {
		pkg := tt.pkg
		t.Run(pkg, func(t *testing.T) {
			var got []string
			for _, act := range analyze(t, tt.check.Analyzer, pkg).Roots {
				if act.Err != nil {
					t.Fatal(act.Err)
				}
				for _, d := range act.Diagnostics {
					got = append(got, line(act.Package.Fset.Position(d.Pos).String(), d))
				}
			}
			slices.Sort(got)
			name := filepath.Join("testdata", "src", filepath.FromSlash(pkg), "want.txt")
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got, ""); text != string(want) {
				t.Errorf("findings differ from %s:\n%s", name, text)
			}
		})
	}
}

func line(pos string, d analysis.Diagnostic) string {
	text := fmt.Sprintf("%s: %s", pos[strings.LastIndexAny(pos, `/\`)+1:], d.Message)
	for _, f := range d.SuggestedFixes {
		text += fmt.Sprintf(" [%s: %q]", f.Message, f.TextEdits[0].NewText)
	}
	return text + "\n"
}
