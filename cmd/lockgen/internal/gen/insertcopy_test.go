package gen

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
)

// A foreignPackage is what go list says of a package.
type foreignPackage struct {
	ImportPath, Dir                     string
	GoFiles, SFiles, HFiles, EmbedFiles []string
	CgoFiles                            []string
	Standard                            bool
	Module                              *struct {
		Path string
		Main bool
	}
}

// heavy are packages that take long to compile, for little that the others have not.
var heavy = regexp.MustCompile(`^(golang\.org/x/tools|github\.com/redis)/`)

// copyForeign copies the packages of other modules that this project is built from into a module, under their own
// paths below its own, and returns the modules.
func copyForeign(t *testing.T, dir string) map[string]bool {
	t.Helper()
	var packages []foreignPackage
	modules, paths := map[string]bool{}, map[string]string{}
	list := json.NewDecoder(strings.NewReader(run(t, ".", "list", "-deps", "-json=ImportPath,Dir,GoFiles,SFiles,HFiles,"+
		"EmbedFiles,CgoFiles,Standard,Module", load.OwnModule+"/...")))
	for {
		var p foreignPackage
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || p.Module.Main || len(p.CgoFiles) > 0 || heavy.MatchString(p.ImportPath) {
			continue
		}
		packages = append(packages, p)
		modules[p.Module.Path] = true
		paths[p.ImportPath] = "example.com/app/" + p.ImportPath
	}
	for _, p := range packages {
		to := filepath.Join(dir, filepath.FromSlash(p.ImportPath))
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.HFiles, p.EmbedFiles) {
			text := readFile(t, filepath.Join(p.Dir, name))
			if strings.HasSuffix(name, ".go") {
				text = withImports(t, text, paths)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(to, name), text)
		}
	}
	return modules
}

// withImports replaces import paths.
func withImports(t *testing.T, text []byte, paths map[string]string) []byte {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range slices.Backward(file.Imports) {
		path, _ := strconv.Unquote(spec.Path.Value)
		if to := paths[path]; to != "" {
			text = slices.Concat(text[:fset.Position(spec.Path.Pos()).Offset], []byte(strconv.Quote(to)),
				text[fset.Position(spec.Path.End()).Offset:])
		}
	}
	return text
}

// dropBroken removes packages that do not build in their new place, which is none of lockgen's doing.
func dropBroken(t *testing.T, dir string) {
	t.Helper()
	for range 5 {
		out, err := goCommand(dir, "build", "-trimpath", "./...")
		if err == nil {
			return
		}
		dropped := map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^# example\.com/app/(\S+)`).FindAllStringSubmatch(out, -1) {
			dropped[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`(?m)^(\S+)/[^/\s]+\.go:\d+:\d+: (?:package|use of internal|no required)`).
			FindAllStringSubmatch(out, -1) {
			dropped[m[1]] = true
		}
		if len(dropped) == 0 {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		for pkg := range dropped {
			t.Logf("left out: %s", pkg)
			if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(pkg))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
