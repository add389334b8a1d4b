package main

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun runs every scenario in the smallest size. What the figures are is not for a test to judge.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := benchmark([]string{"-rounds", "1", "-cold", "0", "-packages", "2"}, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	next := 0
	for _, s := range scenarios(2) {
		if s.cold {
			continue
		}
		for _, tool := range s.tools {
			if next >= len(lines) || !strings.HasPrefix(lines[next], s.name+" ") ||
				!strings.Contains(lines[next], " "+tool.name+" ") {
				t.Fatalf("no line of %s for %s:\n%s", tool.name, s.name, out.String())
			}
			if tool.name == s.tools[0].name && !strings.HasSuffix(lines[next], " 1.0×") {
				t.Errorf("the first tool is what the others are compared with: %s", lines[next])
			}
			next++
		}
	}
	if next != len(lines) {
		t.Errorf("%d lines, want %d:\n%s", len(lines), next, out.String())
	}
}

// TestRun_only measures what was asked for and nothing else.
func TestRun_only(t *testing.T) {
	var out bytes.Buffer
	if err := benchmark([]string{"-rounds", "1", "-packages", "1", "-cold", "1", "-scenario", "up to date"},
		&out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want a head and a scenario:\n%s", n, out.String())
	}
}

// TestOnce_doesTheWork: each tool leaves one file in each package that it is measured on. A tool that fails fast would
// look fast.
func TestOnce_doesTheWork(t *testing.T) {
	dir := t.TempDir()
	b := &bench{dir: dir, bin: filepath.Join(dir, "bin"), module: filepath.Join(dir, "module")}
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	if err := writeModule(b.module, 2); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios(2) {
		if s.cold || s.keep {
			continue
		}
		want := 2
		switch {
		case strings.HasPrefix(s.name, "1 "):
			want = 1
		case strings.HasPrefix(s.name, "nothing"):
			want = 0
		}
		for _, tool := range s.tools {
			if _, err := b.once(s, tool); err != nil {
				t.Fatalf("%s, %s: %v", s.name, tool.name, err)
			}
			if n := outputs(t, b.module); n != want {
				t.Errorf("%s, %s: %d files, want %d", s.name, tool.name, n, want)
			}
		}
	}
}

// TestOnce_reportsFailure: a tool that fails is no result.
func TestOnce_reportsFailure(t *testing.T) {
	dir := t.TempDir()
	b := &bench{dir: dir, bin: dir, module: dir}
	broken := tool{name: "broken", commands: []command{{".", []string{"nosuch"}}}}
	if _, err := b.once(scenario{}, broken); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("error %v, want one that names the command", err)
	}
}

// outputs counts what the tools have written.
func outputs(t *testing.T, module string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && entry.Name() != "p.go" {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
