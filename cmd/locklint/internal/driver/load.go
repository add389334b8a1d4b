package driver

import (
	"context"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/lockgen/lockgen/cmd/locklint/internal/unit"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/packages"
)

// loadMode leaves types and syntax to unit: packages would load either for every dependency or for none.
const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
	packages.NeedDeps | packages.NeedExportFile | packages.NeedModule | packages.NeedTypesSizes | packages.NeedForTest

// load asks the go command about the packages that match patterns. What the compiler exports of their dependencies
// comes from its build cache.
//
// The go command runs in a process group of its own, where no Ctrl-C of the terminal reaches it: who interrupts
// locklint would leave it compiling. So the signals end it here.
func load(patterns []string, tests bool, tags string) ([]*packages.Package, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := &packages.Config{Context: ctx, Mode: loadMode, Tests: tests}
	if tags != "" {
		cfg.BuildFlags = []string{"-tags=" + tags}
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	return roots(pkgs), nil
}

// complaint is what the go command has against patterns for which load finds nothing, "" if nothing. Package packages
// drops some of that, such as that go.mod needs an update.
func complaint(patterns []string, tags string) string {
	args := []string{"list"}
	if tags != "" {
		args = append(args, "-tags="+tags)
	}
	var stderr strings.Builder
	cmd := exec.Command("go", append(append(args, "--"), patterns...)...)
	cmd.Stderr = &stderr
	if cmd.Run() == nil {
		return ""
	}
	return strings.Join(strings.Fields(stderr.String()), " ")
}

// roots leaves out what would be looked at twice or is not the user's: a package with tests inside is looked at
// together with them, as go vet does, and the main package of a test binary is generated.
func roots(pkgs []*packages.Package) []*packages.Package {
	withTests := map[string]bool{}
	for _, p := range pkgs {
		if path, test := unit.TestVariant(p.ID); test != "" {
			withTests[path] = true
		}
	}
	return slices.DeleteFunc(pkgs, func(p *packages.Package) bool {
		return withTests[p.ID] || testMain(p)
	})
}

// testMain reports whether a package is the generated main package of a test binary.
func testMain(p *packages.Package) bool {
	return p.Name == "main" && strings.HasSuffix(p.ID, ".test") && p.Imports["testing/internal/testdeps"] != nil
}

// A world is the packages that may meet in one program. A test binary has one of its own for the packages that import
// what was compiled again for it, under the same path; all other packages, also those with tests inside, share one. It
// ends with the last of its packages: what they import is most of the memory of a run.
type world struct {
	fset  *token.FileSet
	nodes atomic.Int64 // that are still to be run

	mu       sync.Mutex // types are shared and read by all packages of a world
	imported map[string]*types.Package
}

// A loader runs units over the graph of packages, what is imported first.
type loader struct {
	tokens chan struct{} // bounds how many packages are in memory at once

	linked unit.Facts // of interfaces, known before

	mu     sync.Mutex
	worlds map[string]*world
	nodes  map[*packages.Package]*node
}

// A node is a package in the graph and what came of it.
type node struct {
	pkg    *packages.Package
	world  *world
	checks []*lockcheck.Check // nil for a package that is only asked what it tells
	once   sync.Once
	res    *unit.Result // without what was found, and without types that nobody needs
	found  []finding
	err    error
}

func newLoader() *loader {
	return &loader{
		tokens: make(chan struct{}, runtime.GOMAXPROCS(0)),
		worlds: map[string]*world{},
		nodes:  map[*packages.Package]*node{},
	}
}

func (l *loader) node(p *packages.Package) *node {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[p]
	if n == nil {
		test := testWorld(p)
		w := l.worlds[test]
		if w == nil {
			w = &world{fset: token.NewFileSet(), imported: map[string]*types.Package{}}
			l.worlds[test] = w
		}
		w.nodes.Add(1)
		n = &node{pkg: p, world: w}
		l.nodes[p] = n
	}
	return n
}

// testWorld names the test binary whose world a package belongs to, "" for the one that most share.
func testWorld(p *packages.Package) string {
	for _, imp := range p.Imports {
		if _, test := unit.TestVariant(imp.ID); test != "" {
			return test
		}
	}
	return ""
}

// leave counts a package out. The last one takes the world with it.
func (w *world) leave() {
	if w.nodes.Add(-1) > 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fset, w.imported = nil, nil
}

// exported returns what the compiler exports of a package, read once for each world.
func (w *world) exported(p *packages.Package) (*types.Package, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.imported[p.PkgPath]; t != nil && t.Complete() {
		return t, nil
	}
	return readExported(w.fset, w.imported, p.ExportFile, p.PkgPath)
}

// inOrder are all packages that were looked at, by their IDs.
func (l *loader) inOrder() []*node {
	return slices.SortedFunc(maps.Values(l.nodes), func(a, b *node) int { return strings.Compare(a.pkg.ID, b.pkg.ID) })
}
