package driver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

func TestFixOnce_overlapWaits(t *testing.T) {
	name := write(t, "package a\n\nvar x = 1\n")
	left, err := fixOnce([]finding{replacing(name, 19, 20, "2"), replacing(name, 15, 20, "y = 3"), {}},
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

func TestFixOnce_leavesSilenced(t *testing.T) {
	const text = "package a\n\nvar x = 1\n"
	name := write(t, text)
	f := replacing(name, 19, 20, "2")
	f.Silenced = &silenced{By: "comment"}
	if _, err := fixOnce([]finding{f}, new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is %q", got)
	}
}

func TestFixOnce_keepsValidGo(t *testing.T) {
	const text = "package a\n\nvar x = 1\n"
	name := write(t, text)
	if _, err := fixOnce([]finding{replacing(name, 19, 20, "}")}, new(bytes.Buffer)); err == nil {
		t.Error("a fix that breaks the file was applied")
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is %q", got)
	}
	if _, err := fixOnce([]finding{replacing(name, 19, 200, "2")}, new(bytes.Buffer)); err == nil {
		t.Error("a fix beyond the end of the file was applied")
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files are left: %v, %v", entries, err)
	}
}

// A file that gofmt would change keeps what the fix does not touch: the rest is the business of whoever wrote it.
func TestFixOnce_unformatted(t *testing.T) {
	for _, c := range []struct{ what, text, want string }{
		{"formatted", "package a\n\nvar x = 1\n", "package a\n\nvar x = 2\nvar y int\n"},
		{"formatted, with \\r", "package a\r\n\r\nvar x = 1\r\n", "package a\r\n\r\nvar x = 2\r\nvar y int\r\n"},
		{"unformatted", "package a\n\nvar x = 1\nvar  z  = 3\n", "package a\n\nvar x = 2\nvar   y int\nvar  z  = 3\n"},
		{"unformatted, with \\r", "package a\r\n\r\nvar x = 1\r\nvar  z  = 3\r\n",
			"package a\r\n\r\nvar x = 2\r\nvar   y int\r\nvar  z  = 3\r\n"},
		{"line ends of two kinds", "package a\n\nvar x = 1\nvar z = 3\r\n",
			"package a\n\nvar x = 2\nvar   y int\nvar z = 3\r\n"},
		{"a byte order mark", "\ufeffpackage a\n\nvar x = 1\nvar  z  = 3\n",
			"\ufeffpackage a\n\nvar x = 2\nvar   y int\nvar  z  = 3\n"},
	} {
		t.Run(c.what, func(t *testing.T) {
			name := write(t, c.text)
			at := strings.Index(c.text, "1")
			if _, err := fixOnce([]finding{replacing(name, at, at+1, "2\nvar   y int")}, new(bytes.Buffer)); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(name); string(got) != c.want {
				t.Errorf("the file is %q, want %q", got, c.want)
			}
		})
	}
}

func TestFixOnce_unformattedKeepsValidGo(t *testing.T) {
	const text = "package a\n\nvar x  = 1\n"
	name := write(t, text)
	if _, err := fixOnce([]finding{replacing(name, 20, 21, "}")}, new(bytes.Buffer)); err == nil {
		t.Error("a fix that breaks the file was applied")
	}
	if got, _ := os.ReadFile(name); string(got) != text {
		t.Errorf("the file is %q", got)
	}
}
