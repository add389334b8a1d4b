package driver

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/lockgen/lockgen/cmd/locklint/internal/unit"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// FuzzBaseline reads what is no baseline, or was edited by hand. It is refused with its name, or silences findings; what
// is written then is read again as it was.
func FuzzBaseline(f *testing.F) {
	for _, text := range []string{
		`{"findings": [{"file": "a.go", "function": "f", "id": "LL2002", "message": "m", "count": 2}]}`,
		`{"findings": [{"file": "../\u0000", "id": "LL2002", "message": "m", "count": -1}, {}]}`,
		`{"findings": null}`, `null`, `[]`, `{"findings": [{"count": 1e999}]}`, "", "\xff{",
		`{"findings": [{"file": "a.go", "count": 9223372036854775807}, {"file": "a.go", "count": 9223372036854775807}]}`,
	} {
		f.Add([]byte(text), "a.go", "m")
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, file, message string) {
		name := filepath.Join(dir, "baseline.json")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		list := func() []finding {
			return []finding{{place: place{File: filepath.Join(dir, file)}, Function: "f", ID: "LL2002", Message: message}}
		}
		b, err := readBaseline(name)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name the file: %v", err)
		}
		if err == nil {
			b.silence(list())
		}
		if err := writeBaseline(name, list(), io.Discard); err != nil {
			t.Fatal(err)
		}
		if b, err = readBaseline(name); err != nil {
			t.Fatal(err)
		}
		again := list()
		if b.silence(again); again[0].Silenced == nil && validText(file+message) {
			t.Errorf("a finding of %q that was written is not known: %+v", file, b.Findings)
		}
	})
}

// validText reports whether JSON keeps a text as it is.
func validText(text string) bool {
	data, err := json.Marshal(text)
	var got string
	return err == nil && json.Unmarshal(data, &got) == nil && got == text
}

// FuzzDiff reads what git prints for -new-from-rev, and what only looks like it.
func FuzzDiff(f *testing.F) {
	const head = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n"
	for _, text := range []string{
		head + "@@ -1 +1,2 @@ func f() {\n-old\n+new\n++++ b/c.go\n",
		head + "@@ -0,0 +1 @@\n+@@ -1 +9,9 @@\n\\ No newline at end of file\n",
		head + "@@ -1 +99999999999999999999 @@\n",
		head + "@@ -1 +9223372036854775807,9223372036854775807 @@\n+x\n",
		"+++ \"b/\\303\\244 b.go\"\t\n@@ -1 +0,0 @@\n", "@@ -1 +1 @@\n+x\n", "+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		changed, err := parseDiff(text, "/dir")
		if err != nil && changed != nil {
			t.Errorf("with error %v there are %v", err, changed)
		}
		for name, spans := range changed {
			for _, s := range spans {
				if s.first > s.last || s.first < 0 {
					t.Errorf("%s has lines %d to %d", name, s.first, s.last)
				}
			}
			if changed.only([]finding{{place: place{File: name, Line: spans[0].first, EndLine: spans[0].first}}}) == nil {
				t.Errorf("the first new line of %s is not new", name)
			}
		}
	})
}

const vetSource = "package shop\n\nimport \"a.b/c\"\n\n//lock:key=a\nfunc payLocked() { c.F() }\n"

// FuzzVetConfig is go vet that hands over a .cfg, facts of an import and what the compiler exports that are not what it
// would write: the process says why it cannot look at the package.
func FuzzVetConfig(f *testing.F) {
	good := `{"ID": "a.b/shop", "Compiler": "gc", "ImportPath": "a.b/shop", "GoVersion": "go1.26", "GoFiles": ["p.go"],
		"ImportMap": {"a.b/c": "a.b/c"}, "PackageFile": {"a.b/c": "c.a"}, "PackageVetx": {"a.b/c": "c.vetx"},
		"VetxOutput": "out.vetx"}`
	var told bytes.Buffer
	if err := gob.NewEncoder(&told).Encode(vetFacts{Facts: unit.Facts{"a.b/c": {Carrier: true, Facts: []byte("x")}}}); err != nil {
		f.Fatal(err)
	}
	exported, err := exportTypes(token.NewFileSet(), types.NewPackage("a.b/c", "c"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(good), told.Bytes(), exported)
	f.Add([]byte(strings.Replace(good, `"PackageFile": {"a.b/c": "c.a"},`, "", 1)), told.Bytes(), exported)
	f.Add([]byte(`{"ImportPath": "a.b/shop", "GoFiles": ["p.go"], "ImportMap": {"a.b/c": "a.b/c"}}`), []byte{}, []byte{})
	f.Add([]byte(strings.Replace(good, `"go1.26"`, `"go99"`, 1)), []byte{}, []byte("!<arch>\n"))
	f.Add([]byte(strings.Replace(good, `"VetxOutput"`, `"VetxOnly": true, "VetxOutput"`, 1)), []byte("\x07"), []byte{})
	f.Add([]byte(`{"GoFiles": ["p.go", "no.go"], "ModulePath": "a.b", "FixArchive": "f.zip", "Stdout": "out"}`), []byte{}, []byte{})
	for _, text := range []string{"", "null", "[]", `{"GoFiles": [null]}`, `{"GoFiles": 7}`, "{}"} {
		f.Add([]byte(text), []byte{}, []byte{})
	}
	dir := f.TempDir()
	checks := []*lockcheck.Check{lockcheck.Lookup("LL1005"), lockcheck.Lookup("LL2002")}
	f.Fuzz(func(t *testing.T, text, told, exported []byte) {
		for name, data := range map[string][]byte{"vet.cfg": text, "c.vetx": told, "c.a": exported, "p.go": []byte(vetSource)} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cfg, err := readVetConfig(filepath.Join(dir, "vet.cfg"))
		if err != nil {
			return
		}
		confine(cfg, dir)
		for _, o := range []options{{checks: checks}, {checks: checks, fix: true, diff: true}, {checks: checks, json: true}} {
			if _, err := newVetRun(cfg).run(&o, io.Discard, io.Discard); err != nil {
				t.Log(err)
			}
		}
	})
}

// confine keeps all that a .cfg names within a folder.
func confine(cfg *unitchecker.Config, dir string) {
	within := func(name *string) {
		if *name != "" {
			*name = filepath.Join(dir, filepath.Base(filepath.Clean("/"+*name)))
		}
	}
	for _, list := range [][]string{cfg.GoFiles, cfg.NonGoFiles, cfg.IgnoredFiles} {
		for i := range list {
			within(&list[i])
		}
	}
	for _, files := range []map[string]string{cfg.PackageFile, cfg.PackageVetx} {
		for path, name := range files {
			within(&name)
			files[path] = name
		}
	}
	for _, out := range []*string{&cfg.VetxOutput, &cfg.Stdout, &cfg.FixArchive} {
		if *out != "" {
			*out = filepath.Join(dir, "out")
		}
	}
}
