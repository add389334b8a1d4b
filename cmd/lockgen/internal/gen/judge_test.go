package gen

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// A trial is a folder of fuzzed sources.
type trial struct {
	t     *testing.T
	dir   string
	files map[string]string // by name
}

var fuzzedName = regexp.MustCompile(`^[a-z][a-z_]{0,20}\.go$`)

// judge generates for the files of an archive, or for a.go if the text is none. What comes out is problems, or code
// that compiles whenever the sources do. It is the same whether or not declarations that nothing depends on are left
// out, and the same without the go command where the lister understands it.
func judge(t *testing.T, dir, source string) {
	archive := txtar.Parse([]byte(source))
	if len(archive.Files) == 0 {
		archive.Files = []txtar.File{{Name: "a.go", Data: []byte(source)}}
	}
	trial := &trial{t, dir, map[string]string{}}
	for _, f := range archive.Files {
		trial.files[f.Name] = string(f.Data)
	}
	if len(source) > 20000 || len(trial.files) > 4 || !trial.fair() {
		return
	}
	trial.write()
	want := trial.run(func(from *load.Config) { from.AskAlways, from.GoList, from.Check = true, trial.list, checkWhole() })
	if want == nil {
		return
	}
	if len(want.Problems) == 0 {
		trial.compiles(want.Files)
	}
	needed := trial.run(func(from *load.Config) { from.AskAlways, from.GoList = true, trial.list })
	trial.same("with what is needed", needed, want)
	if local := trial.run(func(from *load.Config) { from.GoList = noGo }); local != nil {
		trial.same("without the go command", local, want)
	}
}

// fair tells whether the files can be judged: syntax errors are reported as they are, and only the world can be
// imported.
func (x *trial) fair() bool {
	names := map[string]bool{}
	for name, text := range x.files {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil || !fuzzedName.MatchString(name) || output.Pattern.MatchString(name) {
			return false
		}
		if output.SetOf(name, file).External {
			names[strings.TrimSuffix(file.Name.Name, "_test")] = true
		} else {
			names[file.Name.Name] = true
		}
		for _, spec := range file.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path != "C" && world()[path] == nil {
				return false
			}
		}
	}
	return len(names) == 1
}

func (x *trial) write() {
	old, err := filepath.Glob(filepath.Join(x.dir, "*.go"))
	if err != nil {
		x.t.Fatal(err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			x.t.Fatal(err)
		}
	}
	for name, text := range x.files {
		if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
}

// run generates with another way to load. The result is nil if there is nothing to judge: no directive, or one that
// would take the go command.
func (x *trial) run(adjust func(*load.Config)) *Result {
	cfg := Config{Dir: x.dir, Patterns: []string{"."}, adjust: adjust}
	g, err := understand(context.Background(), cfg)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, p := range g.Problems {
		if p.Message == errNoGo.Error() {
			return nil
		}
	}
	result, err := g.result()
	if err != nil {
		x.t.Fatal(err)
	}
	if len(result.Files)+len(result.Problems) == 0 {
		return nil
	}
	return result
}

// errNoGo stands for all that only the go command could tell.
var errNoGo = errors.New("the go command would be asked")

func noGo(context.Context, load.Config, load.Platform, []string, bool) ([]*packages.Package, error) {
	return nil, errNoGo
}

// list are the packages of the folder, with imports from the world. Files that are not built here are left out.
func (x *trial) list(
	_ context.Context, cfg load.Config, p load.Platform, _ []string, _ bool,
) ([]*packages.Package, error) {
	if p != load.HomePlatform(cfg) {
		return nil, errNoGo
	}
	var all []*packages.Package
	for _, k := range []output.Kind{output.KindPlain, output.KindTest, output.KindExternal} {
		names := x.names(k)
		if len(names) == 0 {
			continue
		}
		p := &packages.Package{ID: string(k), PkgPath: "example.com/app", Imports: map[string]*packages.Package{}}
		file, err := parser.ParseFile(token.NewFileSet(), names[0], x.files[names[0]], parser.PackageClauseOnly)
		if err != nil {
			return nil, err
		}
		p.Name = file.Name.Name
		for _, name := range names {
			p.GoFiles = append(p.GoFiles, filepath.Join(x.dir, name))
		}
		for path, pkg := range world() {
			p.Imports[path] = &packages.Package{ID: path, PkgPath: path, Name: pkg.Name(), Types: pkg,
				GoFiles: []string{"is not read"}}
		}
		all = append(all, p)
	}
	return all, nil
}

// names are the files of one of the packages of the folder.
func (x *trial) names(k output.Kind) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		file, _ := parser.ParseFile(token.NewFileSet(), name, x.files[name], parser.ParseComments)
		built, err := build.Default.MatchFile(x.dir, name)
		if err != nil || !built || constraints.UsesCgo(file) && !build.Default.CgoEnabled {
			continue
		}
		if of := output.SetOf(name, file).Kind(); of == k || of == output.KindPlain && k == output.KindTest {
			all = append(all, name)
		}
	}
	return all
}

func (x *trial) same(how string, got, want *Result) {
	if got == nil || fmt.Sprint(got.Problems) != fmt.Sprint(want.Problems) || len(got.Files) != len(want.Files) {
		x.t.Fatalf("%s: %v, otherwise: %v\n%s", how, got, want, x.files)
	}
	for i, f := range got.Files {
		if string(f.Want) != string(want.Files[i].Want) {
			x.t.Fatalf("%s\ngives %s\n%s\nand otherwise\n%s", x.files, how, f.Want, want.Files[i].Want)
		}
	}
}

// compiles fails if a package compiles and does not do so with its generated code.
func (x *trial) compiles(files []File) {
	for _, k := range []output.Kind{output.KindPlain, output.KindTest, output.KindExternal} {
		var sources, generated []string
		for _, name := range x.names(k) {
			sources = append(sources, x.files[name])
		}
		for _, f := range files {
			name := filepath.Base(f.Path)
			file, err := parser.ParseFile(token.NewFileSet(), name, f.Want, parser.ParseComments)
			if err != nil {
				x.t.Fatalf("%v\n%s", err, f.Want)
			}
			if of := output.SetOf(name, file).Kind(); of == k || of == output.KindPlain && k == output.KindTest {
				generated = append(generated, string(f.Want))
			}
		}
		if len(generated) == 0 || len(errorsOf(sources)) > 0 {
			continue
		}
		if bad := errorsOf(append(sources, generated...)); len(bad) > 0 && !strings.Contains(bad[0].Error(), "requires go1") {
			x.t.Fatalf("%v\n%s\n%s", bad, x.files, generated)
		}
	}
}

func errorsOf(texts []string) []error {
	fset := token.NewFileSet()
	var files []*ast.File
	for i, text := range texts {
		file, err := parser.ParseFile(fset, string(rune('a'+i))+".go", text, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, file)
	}
	var errs []error
	conf := types.Config{Importer: known(world()), FakeImportC: true, Error: func(err error) { errs = append(errs, err) }}
	conf.Check("example.com/app", fset, files, nil)
	return errs
}
