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

// TestLL1005 compares findings with want.txt: a want comment cannot stand behind a directive, it would be part of it.
func TestLL1005(t *testing.T) {
	for _, pkg := range []string{"ll1005/bad", "ll1005/broken"} {
		t.Run(pkg, func(t *testing.T) {
			var got []string
			for _, act := range analyze(t, ll1005.Analyzer, pkg).Roots {
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
