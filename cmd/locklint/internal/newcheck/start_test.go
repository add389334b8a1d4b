package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestStart_compiles: what is written for a new check compiles and stands in the list.
func TestStart_compiles(t *testing.T) {
	root, err := checksDir()
	if err != nil {
		t.Fatal(err)
	}
	overlay := map[string][]byte{}
	for name, text := range scaffold("LL9999", "locks of all kinds") {
		if !strings.HasPrefix(name, "testdata") {
			overlay[filepath.Join(root, "ll9999", name)] = []byte(text)
		}
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadTypes | packages.NeedEmbedFiles, Dir: root,
		Overlay: overlay}, module+checksPath+"/ll9999")
	if err != nil || len(pkgs) != 1 {
		t.Fatalf("%d packages: %v", len(pkgs), err)
	}
	for _, err := range pkgs[0].Errors {
		t.Error(err)
	}
	if pkgs[0].Types == nil || pkgs[0].Types.Scope().Lookup("Check") == nil {
		t.Error("it declares no Check")
	}
}

// TestStart_files: the folder has code, page and testdata, and the list names it.
func TestStart_files(t *testing.T) {
	root := t.TempDir()
	if err := start(root, "LL9999", "locks of all kinds"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ll9999.go", "doc.md", "testdata/src/ll9999/ll9999.go"} {
		if _, err := os.Stat(filepath.Join(root, "ll9999", filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if text, err := list(root); err != nil || !strings.Contains(text, "\tll9999.Check,\n") {
		t.Errorf("the list lacks it: %v\n%s", err, text)
	}
}

// TestStart_refuses: nothing is written for what is no check.
func TestStart_refuses(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "ll2002"), 0o777); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][2]string{
		"has the form":   {"LL20", "title"},
		"title of":       {"LL9999", ""},
		"exists already": {"LL2002", "title"},
	} {
		if err := start(root, args[0], args[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", args, err, want)
		}
	}
}
