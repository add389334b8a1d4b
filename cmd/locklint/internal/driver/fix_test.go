package driver

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// write puts a file into a directory of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	name := filepath.Join(dir, "a.go")
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return name
}

func replacing(name string, start, end int, text string) finding {
	return finding{Fix: &fix{Edits: []edit{{File: name, Start: start, End: end, New: text}}}}
}

func TestFixAll_overlapWaits(t *testing.T) {
	name := write(t, "package a\n\nvar x = 1\n")
	left, err := fixAll([]finding{replacing(name, 19, 20, "2"), replacing(name, 15, 20, "y = 3"), {}},
		new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 {
		t.Errorf("%d findings are left, want the overlapping one and the one without a fix", len(left))
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != "package a\n\nvar x = 2\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

func TestFixAll_leavesSilenced(t *testing.T) {
	const text = "package a\n\nvar x = 1\n"
	name := write(t, text)
	f := replacing(name, 19, 20, "2")
	f.Silenced = &silenced{By: "comment"}
	if _, err := fixAll([]finding{f}, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is %q", got)
	}
}

func TestFixAll_keepsValidGo(t *testing.T) {
	const text = "package a\n\nvar x = 1\n"
	name := write(t, text)
	if _, err := fixAll([]finding{replacing(name, 19, 20, "}")}, new(bytes.Buffer)); err == nil {
		t.Error("a fix that breaks the file was applied")
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is %q", got)
	}
	if _, err := fixAll([]finding{replacing(name, 19, 200, "2")}, new(bytes.Buffer)); err == nil {
		t.Error("a fix beyond the end of the file was applied")
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files are left: %v, %v", entries, err)
	}
}
