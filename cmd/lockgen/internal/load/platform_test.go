package load

import (
	"go/build/constraint"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
)

func TestPlatformFor(t *testing.T) {
	home := Platform{goos: "linux", goarch: "amd64", cgo: true}
	for text, want := range map[string]Platform{
		"linux":               home,
		"linux && cgo":        home,
		"!cgo":                {goos: "linux", goarch: "amd64"},
		"windows":             {goos: "windows", goarch: "amd64"},
		"!unix && !windows":   {goos: "js", goarch: "wasm"},
		"big":                 {goos: "linux", goarch: "amd64", cgo: true, tags: "big"},
		"windows && (a || b)": {goos: "windows", goarch: "amd64", tags: "a"},
		"go1.20":              home,
		"unix && !linux":      {goos: "darwin", goarch: "arm64"},
	} {
		expr, err := constraint.Parse("//go:build " + text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := platformFor(expr, home); !ok || got != want {
			t.Errorf("%s: %+v, %t, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"ignore", "linux && windows", "a && !a", "go1.9999"} {
		expr, _ := constraint.Parse("//go:build " + text)
		if got, ok := platformFor(expr, home); ok {
			t.Errorf("%s: built for %+v, want none", text, got)
		}
	}
}

// TestPlatformFor_everyPort: a file for any port that Go has is built somewhere.
func TestPlatformFor_everyPort(t *testing.T) {
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Skip(err)
	}
	for port := range strings.FieldsSeq(string(out)) {
		goos, goarch, _ := strings.Cut(port, "/")
		p, ok := platformFor(constraints.OfName("a_"+goos+"_"+goarch+".go"), Platform{goos: "linux", goarch: "amd64"})
		if !ok || p.goos != goos || p.goarch != goarch {
			t.Errorf("%s is built for %+v, %t", port, p, ok)
		}
	}
}
