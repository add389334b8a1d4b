package zkstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever imports the package builds everything that it imports. What that is may change, but not unnoticed: the list
// stands in testdata/deps.txt, and LOCKGEN_UPDATE=1 writes it anew. The servers run in processes of their own.
func TestDependencies(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	got := slices.DeleteFunc(strings.Fields(string(out)), func(dep string) bool {
		return strings.HasPrefix(dep, "github.com/lockgen/lockgen/") && strings.Contains(dep, "/internal/")
	})
	slices.Sort(got)
	file := filepath.Join("testdata", "deps.txt")
	if os.Getenv("LOCKGEN_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(text))
	for _, dep := range got {
		if !slices.Contains(want, dep) {
			t.Errorf("the package imports %s, itself or through others; if that is meant, run this test with "+
				"LOCKGEN_UPDATE=1", dep)
		}
	}
	for _, dep := range want {
		if !slices.Contains(got, dep) {
			t.Errorf("the package does not import %s; run this test with LOCKGEN_UPDATE=1", dep)
		}
	}
}
