package lockrt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever imports one of these packages builds everything that it imports. What that is may change, but not unnoticed:
// the list stands in testdata/deps, one file per package, and LOCKGEN_UPDATE=1 writes it anew.
var publicPackages = []string{
	"runtime", "runtime/memstore", "runtime/redisstore", "runtime/sqlstore", "runtime/fence", "runtime/fence/redisfence",
	"runtime/storetest", "jobs", "jobs/memstore", "jobs/redisstore", "jobs/sqlstore", "jobs/dashboard", "jobs/jobstest",
	"jobs/storetest",
}

func TestDependencies(t *testing.T) {
	for _, pkg := range publicPackages {
		t.Run(strings.ReplaceAll(pkg, "/", "_"), func(t *testing.T) {
			got := dependencies(t, pkg)
			file := filepath.Join("testdata", "deps", strings.ReplaceAll(pkg, "/", "_")+".txt")
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
					t.Errorf("%s now imports %s, itself or through others; if that is meant, run this test with LOCKGEN_UPDATE=1", pkg, dep)
				}
			}
			for _, dep := range want {
				if !slices.Contains(got, dep) {
					t.Errorf("%s no longer imports %s; run this test with LOCKGEN_UPDATE=1", pkg, dep)
				}
			}
		})
	}
}

// TestDependencies_everyPackage: a package that others import is in the list.
func TestDependencies_everyPackage(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		pkg := strings.TrimPrefix(path, "github.com/lockgen/lockgen/")
		public := strings.HasPrefix(pkg+"/", "runtime/") || strings.HasPrefix(pkg+"/", "jobs/")
		if public && !strings.Contains(pkg, "/internal") && !slices.Contains(publicPackages, pkg) {
			t.Errorf("%s is not in publicPackages", pkg)
		}
	}
}

// dependencies returns what a package imports, directly or through others, without the standard library and without the
// inside of this module.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}",
		"github.com/lockgen/lockgen/"+pkg)
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok {
			stderr = exit.Stderr
		}
		t.Fatalf("go list of %s: %v\n%s", pkg, err, stderr)
	}
	deps := slices.DeleteFunc(strings.Fields(string(out)), func(dep string) bool {
		return strings.HasPrefix(dep, "github.com/lockgen/lockgen/") && strings.Contains(dep, "/internal/")
	})
	slices.Sort(deps)
	return deps
}
