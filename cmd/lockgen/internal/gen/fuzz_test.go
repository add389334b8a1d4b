package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
)

// fuzzModule is a folder that a lister takes for a module with the runtime.
func fuzzModule(f *testing.F) string {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"),
		[]byte("module example.com/app\n\ngo 1.26\n\nrequire "+load.OwnModule+" v0.0.0\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	return dir
}

// FuzzSource takes any text for a source file, or for an archive of some.
func FuzzSource(f *testing.F) {
	dir := fuzzModule(f)
	sources, _ := filepath.Glob("../../testdata/torture/*/*.go")
	for _, path := range sources {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "//lock:") {
			f.Add(string(text))
		}
	}
	f.Add("package a\n\nimport (\n\"context\"\nlockrt " +
		"\"github.com/lockgen/lockgen/runtime\"\n)\n\n//lock:key=a:{x},ttl=1s,cron=\"@daily\"\nfunc aLocked(ctx " +
		"context.Context, x string, l *lockrt.Locker) error { return nil }\n")
	f.Add("-- a.go --\npackage a\n\nimport \"C\"\n\ntype n C.int\n\n//lock:key=a:{x},ttl=1s\nfunc aLocked(x n) {}\n-- " +
		"b_test.go --\npackage a\n\n//lock:key=b:{x},ttl=1s\nfunc bLocked(x ID) n { return 0 }\n" +
		"-- c_test.go --\npackage a\n\ntype ID string\n-- d_test.go --\npackage " +
		"a_test\n\n//lock:key=a,ttl=1s,cron=@daily\nfunc aLocked() {}\n")
	f.Fuzz(func(t *testing.T, source string) { judge(t, dir, source) })
}

// FuzzShape reads its input as a series of choices among names, types and options that are awkward in some way, and
// makes a declaration of them that nearly always compiles.
func FuzzShape(f *testing.F) {
	dir := fuzzModule(f)
	for i := range 64 {
		f.Add([]byte(strings.Repeat(fmt.Sprintf("%c%c%c", i*7, i*13+5, i*29+3), 12)))
	}
	f.Fuzz(func(t *testing.T, choices []byte) { judge(t, dir, (&shape{choices: choices}).source()) })
}
