package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testmodule"
)

// repo is the module that this one checks.
const repo = "../../.."

// A finding is what a tool says about a line.
type finding struct {
	File, Check, Message string
}

// expected are findings that the corpus provokes. Each has to be there: one that is gone has no business here.
var expected = []struct{ check, file, message, why string }{
	{"predeclared", "names/lock_gen.go", "hides Go's own", "the author's parameters keep their names"},
	{"ST1016", "names/lock_gen.go", `"time"`, "the author calls a receiver like a package that the wrapper needs"},
	{"ST1016", "forms/lock_gen.go", `"customer"`, "a parameter has the name that the type's receivers have"},
}

// TestOutput_passesReview: nothing that a strict reviewer's tools look for is in generated code.
func TestOutput_passesReview(t *testing.T) {
	dir := corpus(t)
	outputs := stripHeaders(t, dir)
	writeFaults(t, dir)
	found := vet(t, dir)
	used := make([]bool, len(expected))
	for _, f := range found {
		if !slices.Contains(outputs, f.File) {
			continue
		}
		i := slices.IndexFunc(expected, func(e struct{ check, file, message, why string }) bool {
			return e.check == f.Check && e.file == f.File && strings.Contains(f.Message, e.message)
		})
		if i < 0 {
			t.Errorf("%s: %s (%s)", f.File, f.Message, f.Check)
		} else {
			used[i] = true
		}
	}
	for i, e := range expected {
		if !used[i] {
			t.Errorf("%s is no longer found in %s: take it off the list", e.check, e.file)
		}
	}
	for _, check := range faultChecks {
		if !slices.ContainsFunc(found, func(f finding) bool { return f.Check == check && f.File == "faults/faults.go" }) {
			t.Errorf("%s does not find the fault in package faults, so it proves nothing about the others", check)
		}
	}
}

// TestOutput_passesLocklint, with the header and without it: then locklint takes wrappers for code that somebody wrote.
func TestOutput_passesLocklint(t *testing.T) {
	dir := corpus(t)
	locklint := build(t, repo, "./cmd/locklint")
	for _, name := range []string{"generated", "handwritten"} {
		t.Run(name, func(t *testing.T) {
			if name == "handwritten" {
				stripHeaders(t, dir)
			}
			out, err := run(dir, nil, locklint, "./...")
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "lock_") {
					t.Error(line)
				}
			}
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// corpus is a copy of lockgen's torture corpus with its output, as a module that uses this checkout.
func corpus(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "testdata", "torture"))); err != nil {
		t.Fatal(err)
	}
	if err := testmodule.Init(dir, "example.com/app"); err != nil {
		t.Fatal(err)
	}
	if out, err := run(dir, nil, build(t, repo, "./cmd/lockgen"), "./..."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// build builds a command of the module in dir.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := run(dir, nil, "go", "build", "-o", program, pkg); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return program
}

func run(dir string, stdout io.Writer, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local")
	if stdout == nil {
		return cmd.CombinedOutput()
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err := cmd.Run()
	return stderr.Bytes(), err
}

// stripHeaders makes generated files look written by hand, and returns their names.
func stripHeaders(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	paths, err := filepath.Glob(filepath.Join(dir, "*", "lock_*gen*.go"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d generated files, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		header, rest, _ := strings.Cut(string(text), "\n")
		if !strings.HasPrefix(header, "// Code generated") {
			t.Fatalf("%s starts with %s", path, header)
		}
		write(t, path, rest)
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return names
}

// vet runs the tool of this module on a module.
func vet(t *testing.T, dir string) []finding {
	t.Helper()
	var out bytes.Buffer
	if said, err := run(dir, &out, "go", "vet", "-json", "-vettool="+build(t, ".", "."), "./..."); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var found []finding
	for d := json.NewDecoder(&out); ; {
		// Of each package, by analyzer: a list of findings, or an error.
		var packages map[string]map[string]json.RawMessage
		if err := d.Decode(&packages); err == io.EOF {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		for _, checks := range packages {
			for check, raw := range checks {
				var list []struct{ Posn, Message string }
				if err := json.Unmarshal(raw, &list); err != nil {
					t.Fatalf("%s: %s", check, raw)
				}
				for _, f := range list {
					path, _, _ := strings.Cut(f.Posn, ":")
					rel, err := filepath.Rel(dir, path)
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, finding{filepath.ToSlash(rel), check, f.Message})
				}
			}
		}
	}
}

// faultChecks are those that package faults has something for: all that a generator is likely to run into.
var faultChecks = []string{
	"unusedparam", "predeclared", "unconvert", "droppederror", "ineffassign",
	"ST1005", "ST1016", "ST1019", "S1008", "SA4006", "SA9003", "any",
}

func writeFaults(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "faults"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "faults", "faults.go"), `// Package faults holds one of each.
package faults

import (
	"errors"
	errs "errors"
)

type T struct{}

func (t T) one() T  { return t }
func (x T) two() T  { return x }

func f(unread int, len string, v interface{}) (bool, error) {
	n := int(unread2(1))
	n = 2
	if len == "" {
	}
	g()
	_, _ = v, n
	if len == "x" {
		return true, nil
	}
	return false, errs.New("Wrong.")
}

func unread2(n int) int { return n }

func g() error { return errors.New("g failed") }

func h(b bool) bool {
	if b {
		return true
	}
	return false
}
`)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
