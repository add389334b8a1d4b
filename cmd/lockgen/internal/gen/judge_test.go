package gen

import (
	"go/ast"
	goimporter "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// world is what fuzzed sources may import: compiled once, so that judging one takes no go command.
var world = sync.OnceValue(func() map[string]*types.Package {
	conf := &packages.Config{Mode: packages.NeedName | packages.NeedExportFile | packages.NeedDeps | packages.NeedImports}
	roots, err := packages.Load(conf, "context", "errors", "fmt", "io", "time", "strings", "sync", "cmp", "net/netip", runtimePath, jobsPath)
	if err != nil {
		panic(err)
	}
	files := map[string]string{}
	packages.Visit(roots, nil, func(p *packages.Package) { files[p.PkgPath] = p.ExportFile })
	load := goimporter.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	all := map[string]*types.Package{"unsafe": types.Unsafe}
	for _, root := range roots {
		if all[root.PkgPath], err = load.Import(root.PkgPath); err != nil {
			panic(err)
		}
	}
	fset := token.NewFileSet()
	probe, err := parser.ParseFile(fset, "probe.go", `package probe
import lockrt "github.com/lockgen/lockgen/runtime"
func Run(...any) {}
func Err() error { return nil }
var Locks *lockrt.Locker`, 0)
	if err != nil {
		panic(err)
	}
	conf2 := types.Config{Importer: known(all)}
	if all["example.com/app/probe"], err = conf2.Check("example.com/app/probe", fset, []*ast.File{probe}, nil); err != nil {
		panic(err)
	}
	return all
})

// known imports what is there.
type known map[string]*types.Package

func (k known) Import(path string) (*types.Package, error) {
	if p := k[path]; p != nil {
		return p, nil
	}
	return nil, os.ErrNotExist
}

// judge generates for a package of one file. What comes out is problems, or code that compiles whenever the source does; and
// where the lister understands it, the same code.
func judge(t *testing.T, dir, source string) {
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", source, parser.ParseComments)
	if err != nil || len(source) > 20000 {
		return // syntax errors are reported as they are
	}
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); world()[path] == nil {
			return
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	result := judged(t, dir, nil)
	if result == nil {
		return
	}
	for _, f := range result.Files {
		compiles(t, source, string(f.Want))
	}
	local := judged(t, dir, func(g *generator, p platform) bool {
		return len(g.bindWithoutGo(p, g.found)) == 0
	})
	if local != nil {
		if len(local.Problems) != len(result.Problems) || len(local.Files) != len(result.Files) {
			t.Fatalf("without the go command: %v, with it: %v\n%s", local, result, source)
		}
		for i, f := range local.Files {
			if want := string(result.Files[i].Want); string(f.Want) != want {
				t.Fatalf("%s\ngives without the go command\n%s\nand with it\n%s", source, f.Want, want)
			}
		}
	}
}

// judged runs the steps of Generate with another way to bind, nil for the packages of the world. The result is nil if there
// is nothing to judge.
func judged(t *testing.T, dir string, bind func(*generator, platform) bool) *Result {
	f, err := scanDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Dir: dir, Logf: func(string, ...any) {}, check: (*checker).check}
	cfg.home = homePlatform(cfg)
	g := &generator{cfg: cfg, files: newSources(), folders: []*folder{f}}
	g.find()
	if len(g.found) == 0 {
		return nil
	}
	if bind == nil {
		p := &packages.Package{ID: "a", PkgPath: "example.com/app", Name: g.found[0].file.Name.Name, GoFiles: []string{filepath.Join(dir, "a.go")}, Imports: map[string]*packages.Package{}}
		for path, pkg := range world() {
			p.Imports[path] = &packages.Package{ID: path, PkgPath: path, Name: pkg.Name(), Types: pkg}
		}
		check := newChecker(g.files, cfg.home)
		check.expect(p, g.found)
		units, problems := g.bindListed(check, p, g.found)
		g.units, g.problems = units, append(g.problems, problems...)
	} else if !bind(g, cfg.home) {
		return nil
	}
	result, err := g.result()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return result
}

// compiles fails if the source compiles and does not do so with the generated code. Whether it does is asked without the
// bodies: they may call wrappers.
func compiles(t *testing.T, source, generated string) {
	fset := token.NewFileSet()
	var errs []error
	check := func(ignoreBodies bool, texts ...string) []error {
		var files []*ast.File
		for i, text := range texts {
			file, err := parser.ParseFile(fset, string(rune('a'+i))+".go", text, parser.SkipObjectResolution)
			if err != nil {
				return []error{err}
			}
			files = append(files, file)
		}
		errs = nil
		conf := types.Config{Importer: known(maps.Clone(world())), IgnoreFuncBodies: ignoreBodies, DisableUnusedImportCheck: ignoreBodies, Error: func(err error) { errs = append(errs, err) }}
		conf.Check("example.com/app", fset, files, nil)
		return errs
	}
	if bad := check(false, source); len(bad) > 0 {
		return
	}
	if bad := check(false, source, generated); len(bad) > 0 && !strings.Contains(bad[0].Error(), "requires go1") {
		t.Fatalf("%v\n%s\n%s", bad, source, generated)
	}
}
