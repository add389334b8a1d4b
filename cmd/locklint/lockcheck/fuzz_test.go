package lockcheck

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/checktest"
)

// FuzzChecks runs every check on Go that may be anything: cut off, of the wrong types, or of no types at all. It wants
// no crash; what the index digests is up to go/ssa, whose own panics cost a package its findings.
func FuzzChecks(f *testing.F) {
	tree := checktest.Tree(f)
	imp := stubImporter(f, tree)
	for _, pattern := range []string{"hard/*.go", "recipes/*.go", "ll1001/*.go", "ll1004/*.go", "ll1010/*.go",
		"ll2005/*.go", "ll3003/*.go"} {
		names, err := filepath.Glob(filepath.Join(tree, "src", filepath.FromSlash(pattern)))
		if err != nil || len(names) == 0 {
			f.Fatalf("%s: no seeds: %v", pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
			f.Add(string(text[:len(text)*2/3]))
			f.Add(strings.ReplaceAll(string(text), "err", "_"))
			f.Add(strings.ReplaceAll(string(text), "ctx, ", ""))
		}
	}
	// Seeds that do not even compile would prove little.
	whole, err := os.ReadFile(filepath.Join(tree, "src", "ll2005", "ll2005.go"))
	if err != nil || !checkText(f, imp, string(whole)) {
		f.Fatalf("a seed does not compile: are the stand-ins of the clients missing? %v", err)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, imp, text) })
}

// checkText runs the checks on the text of a file and reports whether it compiles.
func checkText(t testing.TB, imp types.Importer, text string) bool {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "fuzz.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if file == nil || file.Name == nil {
		return false
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
		Scopes:     map[ast.Node]*types.Scope{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, FileVersions: map[*ast.File]string{},
	}
	compiles := err == nil
	conf := types.Config{Importer: imp, Error: func(error) { compiles = false }}
	pkg := typeCheck(&conf, fset, file, info)
	if pkg == nil {
		return false
	}
	runAll(t, &analysis.Pass{
		Fset: fset, Files: []*ast.File{file}, Pkg: pkg, TypesInfo: info, TypesSizes: types.SizesFor("gc", "amd64"),
		Report:            func(analysis.Diagnostic) {},
		ReadFile:          func(string) ([]byte, error) { return []byte(text), nil },
		ImportObjectFact:  func(types.Object, analysis.Fact) bool { return false },
		ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false },
		ExportObjectFact:  func(types.Object, analysis.Fact) {},
		ExportPackageFact: func(analysis.Fact) {},
		AllObjectFacts:    func() []analysis.ObjectFact { return nil },
		AllPackageFacts:   func() []analysis.PackageFact { return nil },
	}, compiles)
	return compiles
}

// typeCheck is nil for a file at which package types itself panics.
func typeCheck(conf *types.Config, fset *token.FileSet, file *ast.File, info *types.Info) (pkg *types.Package) {
	defer func() { _ = recover() }()
	pkg, _ = conf.Check("fuzz", fset, []*ast.File{file}, info)
	return pkg
}

// runAll runs the analyzers on one package as a driver does: on one that does not compile those that say so.
func runAll(t testing.TB, pass *analysis.Pass, compiles bool) {
	done := map[*analysis.Analyzer]any{}
	var run func(a *analysis.Analyzer) bool
	run = func(a *analysis.Analyzer) bool {
		if _, ok := done[a]; ok {
			return true
		}
		if !compiles && !a.RunDespiteErrors {
			return false
		}
		for _, req := range a.Requires {
			if !run(req) {
				return false
			}
		}
		sub := *pass
		sub.Analyzer, sub.ResultOf = a, done
		res, err := a.Run(&sub)
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		done[a] = res
		return true
	}
	for _, c := range Checks {
		run(c.Analyzer)
	}
}

// stubImporter imports the stand-ins of the clients from testdata and the standard library from its export data.
func stubImporter(f *testing.F, tree string) types.Importer {
	mode := packages.NeedName | packages.NeedExportFile | packages.NeedDeps | packages.NeedImports
	out, err := packages.Load(&packages.Config{Mode: mode},
		"context", "errors", "fmt", "iter", "log", "math/rand", "net/http", "os", "strconv", "strings", "sync", "testing",
		"time", "unsafe", "database/sql")
	if err != nil {
		f.Fatal(err)
	}
	files := map[string]string{}
	packages.Visit(out, nil, func(p *packages.Package) { files[p.PkgPath] = p.ExportFile })
	fset := token.NewFileSet()
	std := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	return &stubs{tree: tree, fset: fset, std: std, files: files, done: map[string]*types.Package{"unsafe": types.Unsafe}}
}

type stubs struct {
	tree  string
	mu    sync.Mutex
	fset  *token.FileSet
	std   types.Importer
	files map[string]string
	done  map[string]*types.Package
}

// Import implements types.Importer.
func (s *stubs) Import(path string) (*types.Package, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(path)
}

func (s *stubs) load(path string) (*types.Package, error) {
	if p := s.done[path]; p != nil {
		return p, nil
	}
	if s.files[path] != "" {
		p, err := s.std.Import(path)
		if err == nil {
			s.done[path] = p
		}
		return p, err
	}
	dir := filepath.Join(s.tree, "src", filepath.FromSlash(path))
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	if len(names) == 0 || strings.Contains(path, "..") {
		return nil, os.ErrNotExist
	}
	var list []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		list = append(list, file)
	}
	conf := types.Config{Importer: loader(s.load), Error: func(error) {}}
	p, _ := conf.Check(path, s.fset, list, nil)
	s.done[path] = p
	return p, nil
}

type loader func(string) (*types.Package, error)

// Import implements types.Importer.
func (l loader) Import(path string) (*types.Package, error) { return l(path) }
