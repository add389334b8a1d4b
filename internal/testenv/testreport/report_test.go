package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run tests a throw-away module with the real go command and reports on it, so
// that a change of the format shows here.
func run(t *testing.T, source string) (*report, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.test\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "x_test.go"), source)
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, _ := cmd.Output() // fails where the tests under test do
	var w strings.Builder
	r, err := read(strings.NewReader(string(out)), &w)
	if err != nil {
		t.Fatalf("%v, after:\n%s", err, out)
	}
	r.summarize(&w)
	return r, w.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRead_skipsCarryTheirReason(t *testing.T) {
	r, text := run(t, `package x
import "testing"
func TestA(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no etcd here") }) }
func TestB(t *testing.T) { t.Parallel(); t.SkipNow() }
func TestC(t *testing.T) {}
`)
	if r.failed() {
		t.Error("a run with skips only counts as failed")
	}
	for _, want := range []string{
		"SKIP  example.test TestA/sub: no etcd here\n",
		"SKIP  example.test TestB: no reason given\n",
		"tests: 1 packages, 2 passed, 2 skipped, 0 failed\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestRead_failures(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"test":  {`package x; import "testing"; func TestA(t *testing.T) { t.Error("two is not three") }`, "two is not three"},
		"panic": {`package x; import "testing"; func TestA(t *testing.T) { panic("out of cheese") }`, "out of cheese"},
		"exit":  {`package x; import ("os"; "testing"); func TestMain(*testing.M) { os.Exit(3) }`, "exit status 3"},
		"build": {`package x; import "testing"; func TestA(t *testing.T) { undefinedName() }`, "undefined: undefinedName"},
	} {
		t.Run(name, func(t *testing.T) {
			r, text := run(t, test.source)
			if !r.failed() || !strings.Contains(text, test.want) {
				t.Errorf("failed = %v, want %q in:\n%s", r.failed(), test.want, text)
			}
		})
	}
}

func TestRead_notTheOutputOfTests(t *testing.T) {
	if _, err := read(strings.NewReader(""), os.Stdout); err == nil {
		t.Error("nothing at all passes")
	}
	r, err := read(strings.NewReader("go: cannot find main module\n"), &strings.Builder{})
	if err != nil || !r.failed() {
		t.Errorf("plain text of the go command passes: %v", err)
	}
}

func TestRead_panicAmongTestsThatWait(t *testing.T) {
	_, text := run(t, `package x
import "testing"
func TestA(t *testing.T) { t.Parallel() }
func TestB(t *testing.T) { t.Parallel() }
func TestC(t *testing.T) { panic("out of cheese") }
`)
	if !strings.Contains(text, "out of cheese") || !strings.Contains(text, "example.test: nor did these end, which said nothing: TestA TestB\n") {
		t.Errorf("the tests that waited are not in one line:\n%s", text)
	}
	if strings.Contains(text, "=== PAUSE") {
		t.Errorf("the framing of tests that said nothing is shown:\n%s", text)
	}
}
