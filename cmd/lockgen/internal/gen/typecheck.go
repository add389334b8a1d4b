package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// A checker type checks declarations of packages of one platform from source, each package at most once and only what
// is needed of it.
type checker struct {
	reach *reach
	sizes types.Sizes
	done  map[string]*types.Package // dependencies by package ID
}

// sources parses files, each once. Platforms share it.
type sources struct {
	fset *token.FileSet
	mu   sync.Mutex
	// by path; nil for a file that cannot be read, and for lockgen's own output
	ast    map[string]*ast.File
	broken map[string]bool // those that cannot be read, or only in part
}

func newSources() *sources {
	return &sources{fset: token.NewFileSet(), ast: map[string]*ast.File{}, broken: map[string]bool{}}
}

func newChecker(files *sources, p platform) *checker {
	return &checker{reach: newReach(files), sizes: types.SizesFor("gc", p.goarch), done: map[string]*types.Package{}}
}

// parse returns a file without comments, or with them if it is a candidate that was parsed before. A syntax error
// leaves what the parser could make of the rest.
func (s *sources) parse(path string) *ast.File {
	s.mu.Lock()
	file, ok := s.ast[path]
	s.mu.Unlock()
	if ok {
		return file
	}
	content, err := files.Read(path)
	if err == nil && !isOutput(filepath.Base(path), content) {
		file, err = parser.ParseFile(s.fset, path, content, parser.SkipObjectResolution)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ast[path], s.broken[path] = file, err != nil
	return file
}

// read is parse, and tells whether that is the whole file. It is also for an output, which there is nothing to read in.
func (s *sources) read(path string) (file *ast.File, complete bool) {
	file = s.parse(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	return file, !s.broken[path]
}

func (s *sources) parseAll(paths []string) []*ast.File {
	parsed := make([]*ast.File, len(paths))
	each(len(paths), func(i int) { parsed[i] = s.parse(paths[i]) })
	var files []*ast.File
	for _, file := range parsed {
		if file != nil {
			files = append(files, file)
		}
	}
	return files
}

// expect says that a package will be checked, for the sake of some directives. All are expected before any is checked:
// what they need of the packages that they share is put together.
func (c *checker) expect(p *packages.Package, found []*annotated) { c.reach.expect(p, found) }

// check checks a package with directives. Type errors are dropped, see the package comment.
func (c *checker) check(p *packages.Package) (*types.Package, *types.Info) {
	c.reach.settle()
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}}
	return c.run(c.reach.need(p), info), info
}

func (c *checker) run(n *need, info *types.Info) *types.Package {
	conf := types.Config{
		IgnoreFuncBodies:         true,
		FakeImportC:              true,
		DisableUnusedImportCheck: true,
		Sizes:                    c.sizes,
		Importer:                 &importer{c, n.p},
		Error:                    func(error) {},
	}
	pkg, _ := conf.Check(n.p.PkgPath, c.reach.files.fset, c.reach.pruned(n), info)
	return pkg
}

// importer resolves the imports of one package.
type importer struct {
	checker *checker
	of      *packages.Package
}

// Import implements types.Importer. A package that nothing is needed of is as good as empty: most of what a package
// imports is only used in function bodies.
func (im *importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := im.of.Imports[path]
	if p == nil {
		return nil, fmt.Errorf("package %s was not found", path)
	}
	c := im.checker
	if pkg, ok := c.done[p.ID]; ok {
		return pkg, nil
	}
	pkg := c.dependency(p)
	pkg.MarkComplete()
	c.done[p.ID] = pkg
	return pkg, nil
}

func (c *checker) dependency(p *packages.Package) *types.Package {
	n := c.reach.needs[p.ID]
	switch {
	case p.Types != nil && (p.Types.Complete() || n == nil):
		return p.Types
	case p.Types != nil:
		return n.fill(p.Types)
	case n == nil || p.IllTyped:
		return types.NewPackage(p.PkgPath, p.Name)
	case !n.read:
		return n.fill(c.reach.std.of(p.PkgPath))
	}
	return c.run(n, nil)
}
