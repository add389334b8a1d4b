package gen

import (
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
	want := trial.run(trial.bindWith(wholeOfWorld))
	if want == nil {
		return
	}
	if len(want.Problems) == 0 {
		trial.compiles(want.Files)
	}
	trial.same("with what is needed", trial.run(trial.bindWith((*checker).check)), want)
	bindLocal := func(g *generator, p platform) bool { return len(g.bindWithoutGo(p, g.found)) == 0 }
	if local := trial.run(bindLocal); local != nil {
		trial.same("without the go command", local, want)
	}
}

// fair tells whether the files can be judged: syntax errors are reported as they are, and only the world can be
// imported.
func (x *trial) fair() bool {
	names := map[string]bool{}
	for name, text := range x.files {
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil || !fuzzedName.MatchString(name) || outputPattern.MatchString(name) {
			return false
		}
		if setOf(name, file).external {
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

// run runs the steps of Generate with another way to bind. The result is nil if there is nothing to judge: no
// directive, one under a constraint that does not hold here, or none that bind understands.
func (x *trial) run(bind func(*generator, platform) bool) *Result {
	f, err := scanDir(x.dir, false)
	if err != nil {
		x.t.Fatal(err)
	}
	cfg := Config{Dir: x.dir, Logf: func(string, ...any) {}, check: (*checker).check}
	cfg.home = homePlatform(cfg)
	g := &generator{cfg: cfg, files: newSources(), folders: []*folder{f}}
	g.find()
	for _, a := range g.found {
		if p, ok := platformFor(a.set.constraint, cfg.home); !ok || p != cfg.home {
			return nil
		}
	}
	if len(g.found) == 0 || !bind(g, cfg.home) {
		return nil
	}
	result, err := g.result()
	if err != nil {
		x.t.Fatalf("%v", err)
	}
	return result
}

// bindWith binds with packages of the world.
func (x *trial) bindWith(
	check func(*checker, *packages.Package) (*types.Package, *types.Info),
) func(*generator, platform) bool {
	return func(g *generator, home platform) bool {
		g.cfg.check = check
		for _, group := range byPackage(g.found) {
			p := &packages.Package{PkgPath: "example.com/app", Name: group[0].file.Name.Name,
				Imports: map[string]*packages.Package{}}
			p.ID = p.Name + string(group[0].set.kind())
			for _, name := range x.names(group[0].set.kind()) {
				p.GoFiles = append(p.GoFiles, filepath.Join(x.dir, name))
			}
			for path, pkg := range world() {
				p.Imports[path] = &packages.Package{ID: path, PkgPath: path, Name: pkg.Name(), Types: pkg}
			}
			c := newChecker(g.files, home)
			c.expect(p, g.foundIn(p))
			units, problems := g.bindListed(c, p, group)
			g.units, g.problems = append(g.units, units...), append(g.problems, problems...)
		}
		return true
	}
}

// names are the files of one of the packages of the folder.
func (x *trial) names(k kind) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		file, _ := parser.ParseFile(token.NewFileSet(), name, x.files[name], parser.ParseComments)
		built, err := build.Default.MatchFile(x.dir, name)
		if err != nil || !built || constraints.UsesCgo(file) && !build.Default.CgoEnabled {
			continue
		}
		if of := setOf(name, file).kind(); of == k || of == kindPlain && k == kindTest {
			all = append(all, name)
		}
	}
	return all
}

func wholeOfWorld(c *checker, p *packages.Package) (*types.Package, *types.Info) {
	return checkWhole(c, p)
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
	for _, k := range []kind{kindPlain, kindTest, kindExternal} {
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
			if of := setOf(name, file).kind(); of == k || of == kindPlain && k == kindTest {
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
