package main

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mayImport says which rooms of lockgen a room knows. Those that it does not list know none.
var mayImport = map[string]string{
	"bound":  "output problem",
	"load":   "bound load/decls output parallel problem",
	"clash":  "bound load load/decls output problem",
	"render": "bound output",
	"gen":    "bound clash graph load load/decls output parallel problem render",

	"load/decls": "output parallel",
}

// TestRooms_importOneWay: what is loaded does not know how it is written, and what is written not how it was loaded.
func TestRooms_importOneWay(t *testing.T) {
	const below = "github.com/lockgen/lockgen/cmd/lockgen/internal/"
	n := 0
	for _, pattern := range []string{"internal/*/*.go", "internal/*/*/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "internal/")
			for _, spec := range file.Imports {
				imported, _ := strconv.Unquote(spec.Path.Value)
				other, ok := strings.CutPrefix(imported, below)
				if !ok {
					continue
				}
				if n++; !strings.Contains(" "+mayImport[room]+" ", " "+other+" ") {
					t.Errorf("%s imports %s", path, other)
				}
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d imports", n)
	}
}
