package driver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// vet runs the tool as a go command does that does not compile for vet, on a package of one file.
func vet(t *testing.T, dir, path, text string, change func(*unitchecker.Config)) (code int, stderr string) {
	t.Helper()
	name := filepath.Base(path)
	file := filepath.Join(dir, name+".go")
	cfg := &unitchecker.Config{
		ID: path, Compiler: "gc", ImportPath: path, GoFiles: []string{file}, VetxOutput: filepath.Join(dir, name+".vetx"),
		ImportMap: map[string]string{}, PackageVetx: map[string]string{},
	}
	change(cfg)
	data, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{file: []byte(text), file + ".cfg": data} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code = vetUnit(&options{unit: file + ".cfg", checks: []*lockcheck.Check{lockcheck.Lookup("LL1003")}}, &out, &errs)
	return code, errs.String()
}

const (
	vetShop = "package shop\n\n//lock:key=a\nfunc PayLocked() {}\n"
	vetUser = "package user\n\nimport \"a.b/shop\"\n\nfunc f() { shop.PayLocked() }\n"
)

// TestVetUnit_facts: what the process for a package writes is what the one for its importer finds by.
func TestVetUnit_facts(t *testing.T) {
	dir := t.TempDir()
	if code, stderr := vet(t, dir, "a.b/shop", vetShop, func(cfg *unitchecker.Config) { cfg.VetxOnly = true }); code != exitClean {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	imports := func(cfg *unitchecker.Config) {
		cfg.ImportMap["a.b/shop"] = "a.b/shop"
		cfg.PackageVetx["a.b/shop"] = filepath.Join(dir, "shop.vetx")
	}
	code, stderr := vet(t, dir, "a.b/user", vetUser, imports)
	if code != exitFindings || !strings.Contains(stderr, "user.go:5:12: LL1003") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if code, stderr := vet(t, dir, "a.b/user", vetUser, func(cfg *unitchecker.Config) {
		imports(cfg)
		cfg.VetxOnly = true
	}); code != exitClean || stderr != "" {
		t.Errorf("for its facts alone: exit %d\n%s", code, stderr)
	}
}

// TestVetUnit_fails: what the tool cannot read it names, with the package that it is about.
func TestVetUnit_fails(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.vetx")
	if err := os.WriteFile(bad, []byte("no gob"), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*unitchecker.Config){
		"a.b/user: cannot read what a.b/shop tells": func(cfg *unitchecker.Config) { cfg.PackageVetx["a.b/shop"] = bad },
		"no.go": func(cfg *unitchecker.Config) { cfg.GoFiles = append(cfg.GoFiles, filepath.Join(dir, "no.go")) },
	} {
		if code, stderr := vet(t, dir, "a.b/user", vetUser, change); code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, want %q in\n%s", code, want, stderr)
		}
	}
	code, stderr := vet(t, dir, "a.b/user", vetUser, func(cfg *unitchecker.Config) { cfg.ImportMap["a.b/shop"] = "a.b/shop" })
	if code != exitFindings || !strings.Contains(stderr, "the go command has not looked at a.b/shop") {
		t.Errorf("an import that nobody looked at: exit %d\n%s", code, stderr)
	}
	var errs bytes.Buffer
	if code := vetUnit(&options{unit: bad}, &errs, &errs); code != exitFailed || !strings.Contains(errs.String(), "cannot understand "+bad) {
		t.Errorf("a .cfg that is none: exit %d\n%s", code, errs.String())
	}
}
