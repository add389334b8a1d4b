package driver

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrintText_related: of many related places people see the first, and how many more there are.
func TestPrintText_related(t *testing.T) {
	for n, want := range map[int]string{
		0:  "",
		5:  "a.go:1:1: \tr1\na.go:2:1: \tr2\na.go:3:1: \tr3\na.go:4:1: \tr4\na.go:5:1: \tr5\n",
		6:  "a.go:1:1: \tr1\na.go:2:1: \tr2\na.go:3:1: \tr3\na.go:4:1: \tr4\na.go:5:1: \tr5\na.go:6:1: \tand 1 more\n",
		99: "a.go:1:1: \tr1\na.go:2:1: \tr2\na.go:3:1: \tr3\na.go:4:1: \tr4\na.go:5:1: \tr5\na.go:6:1: \tand 94 more\n",
	} {
		f := finding{Message: "m", place: place{File: "a.go", Line: 1, Column: 1}}
		for i := range n {
			f.Related = append(f.Related, related{fmt.Sprintf("r%d", i+1), place{File: "a.go", Line: i + 1, Column: 1}})
		}
		var b strings.Builder
		if err := printText(&b, []finding{f}, -1); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(b.String(), "a.go:1:1: m\n"); got != want {
			t.Errorf("%d places: %q, want %q", n, got, want)
		}
	}
}
