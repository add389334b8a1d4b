package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/tools/go/packages"
)

// A checker type checks the declarations of packages of one platform from source, each at most once and only when something
// needs it.
type checker struct {
	files *sources
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

func newChecker(files *sources, p platform) *checker {
	return &checker{files: files, sizes: types.SizesFor("gc", p.goarch), done: map[string]*types.Package{}}
}

// parse returns a file without comments, or with them if it is a candidate that was parsed before. A syntax error leaves
// what the parser could make of the rest.
func (s *sources) parse(path string) *ast.File {
	s.mu.Lock()
	file, ok := s.ast[path]
	s.mu.Unlock()
	if ok {
		return file
	}
	content, err := os.ReadFile(path)
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

// check checks a package with directives. Type errors are dropped, see the package comment. needed are names of imports
// that directives refer to.
func (c *checker) check(p *packages.Package, needed map[string]bool) (*types.Package, *types.Info) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	return c.run(p, info, needed), info
}

func (c *checker) run(p *packages.Package, info *types.Info, needed map[string]bool) *types.Package {
	files := c.files.parseAll(p.GoFiles)
	used := qualifiers(files)
	for name := range needed {
		used[name] = true
	}
	conf := types.Config{
		IgnoreFuncBodies:         true,
		FakeImportC:              true,
		DisableUnusedImportCheck: true,
		Sizes:                    c.sizes,
		Importer:                 &importer{c, p, wanted(files, p, used)},
		Error:                    func(error) {},
	}
	pkg, _ := conf.Check(p.PkgPath, c.files.fset, files, info)
	return pkg
}

// importer resolves the imports of one package.
type importer struct {
	checker *checker
	of      *packages.Package
	wanted  map[string]bool // import paths
}

// Import implements types.Importer. A package that no declaration mentions is as good as empty: most of what a package
// imports is only used in function bodies.
func (im *importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := im.of.Imports[path]
	if p == nil {
		return nil, fmt.Errorf("package %s was not found", path)
	}
	if p.Types != nil {
		return p.Types, nil // stands in for it
	}
	if !im.wanted[path] || p.IllTyped {
		empty := types.NewPackage(p.PkgPath, p.Name)
		empty.MarkComplete()
		return empty, nil
	}
	c := im.checker
	if pkg, ok := c.done[p.ID]; ok {
		return pkg, nil
	}
	pkg := c.run(p, nil, nil)
	pkg.MarkComplete()
	c.done[p.ID] = pkg
	return pkg, nil
}

// qualifiers are the names x that stand as x.Name outside of function bodies. Some are imports.
func qualifiers(files []*ast.File) map[string]bool {
	used := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			ast.Inspect(decl, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.BlockStmt:
					return false
				case *ast.SelectorExpr:
					if x, ok := node.X.(*ast.Ident); ok {
						used[x.Name] = true
					}
				}
				return true
			})
		}
	}
	return used
}

// wanted are the paths of the imports of p that go by one of the used names.
func wanted(files []*ast.File, p *packages.Package, used map[string]bool) map[string]bool {
	paths := map[string]bool{}
	for _, file := range files {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || p.Imports[path] == nil {
				continue
			}
			name := p.Imports[path].Name
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." || used[name] {
				paths[path] = true
			}
		}
	}
	return paths
}
