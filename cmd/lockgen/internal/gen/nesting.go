package gen

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/graph"
)

// Nesting finds which locks are taken inside which: a lock is, where its wrapper is called in the function that another
// wrapper runs, or in a function that is called from there. Calls through interfaces of the packages lead to all types that
// have the methods. Goroutines run beside the section and do not count. It reads function bodies, so the packages have to
// compile, once the wrappers are there: those that would be written now are used, whatever lies on the disk.
func Nesting(ctx context.Context, cfg Config) (*graph.Graph, []Problem, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	result, err := g.result()
	if err != nil || len(result.Problems) > 0 {
		return nil, result.Problems, err
	}
	var units []*unit
	for _, u := range g.units {
		if !u.set.test {
			units = append(units, u)
		}
	}
	if len(units) == 0 {
		return graph.New(nil, nil), nil, nil
	}
	pkgs, err := loadBodies(ctx, g.cfg, result.Files)
	if err != nil {
		return nil, nil, err
	}
	c := newCalls(pkgs, result.Files)
	wrappers := map[funcID]*unit{}
	for _, u := range units {
		wrappers[u.id(u.Name)] = u
	}
	var locks []graph.Lock
	var nestings []graph.Nesting
	for _, u := range units {
		for _, key := range u.Keys {
			locks = append(locks, graph.Lock{Shape: key.Shape(), Templates: []string{u.listed(key).Typed()},
				Functions: []string{u.qualified()}})
		}
		for _, n := range c.wrappersFrom(u.id(u.Decl.Name.Name), wrappers) {
			nestings = append(nestings, u.nestings(n)...)
		}
	}
	return graph.New(locks, nestings), nil, nil
}

// nestings are the pairs of locks of a function and of one whose wrapper it calls.
func (u *unit) nestings(n reached) []graph.Nesting {
	var all []graph.Nesting
	for _, outer := range u.Keys {
		for _, inner := range n.unit.Keys {
			all = append(all, graph.Nesting{Outer: outer.Shape(), Inner: inner.Shape(), Path: n.path, Interface: n.dynamic,
				Reentrant: n.unit.Directive.Reentrant != nil && n.unit.Directive.Reentrant.Value})
		}
	}
	return all
}

func (u *unit) id(name string) funcID { return funcID{u.pkg.Path(), u.RecvType, name} }

// qualified is the function with the last element of its package.
func (u *unit) qualified() string { return u.pkg.Name() + "." + u.funcName() }

// loadBodies type checks the packages that the patterns name, with the outputs as they should be.
func loadBodies(ctx context.Context, cfg Config, outputs []File) ([]*packages.Package, error) {
	dirs, _, err := expand(ctx, cfg)
	if err != nil {
		return nil, err
	}
	conf := &packages.Config{Context: ctx, Dir: cfg.Dir, Env: cfg.Env, Overlay: map[string][]byte{},
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}
	if cfg.Tags != "" {
		conf.BuildFlags = []string{"-tags=" + cfg.Tags}
	}
	for _, f := range outputs {
		switch {
		case f.Want != nil && f.changed():
			conf.Overlay[f.Path] = f.Want
		case f.Want == nil:
			conf.Overlay[f.Path] = []byte("//go:build ignore\n\npackage ignored\n")
		}
	}
	patterns := make([]string, len(dirs))
	for i, dir := range dirs {
		patterns[i] = pathPattern(cfg.Dir, dir)
	}
	pkgs, err := packages.Load(conf, patterns...)
	if err != nil {
		return nil, fmt.Errorf("lockgen: the packages cannot be loaded: %w", plainError(err))
	}
	return pkgs, bodyErrors(cfg, pkgs)
}

// bodyErrors says what keeps the calls from being known.
func bodyErrors(cfg Config, pkgs []*packages.Package) error {
	const most = 10
	var lines []string
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if strings.Contains(e.Msg, "build constraints exclude all Go files") {
				continue // nothing to see on this system
			}
			pos := e.Pos
			if path, rest, ok := strings.Cut(pos, ":"); ok {
				pos = files.Name(relative(cfg.Dir, path)) + ":" + rest
			}
			lines = append(lines, pos+": "+e.Msg)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return fmt.Errorf("lockgen: the graph needs packages that compile:\n%s", strings.Join(lines, "\n"))
}

// A funcID names a function or method, whatever its type arguments are.
type funcID struct{ pkg, recv, name string }

func idOf(fn *types.Func) funcID {
	fn = fn.Origin()
	id := funcID{name: fn.Name()}
	if fn.Pkg() != nil {
		id.pkg = fn.Pkg().Path()
	}
	if recv := fn.Signature().Recv(); recv != nil {
		if named := receiverNamed(recv.Type()); named != nil {
			id.recv = named.Obj().Name()
		}
	}
	return id
}

// short is the function as a path shows it.
func (id funcID) short() string {
	if id.recv != "" {
		return id.recv + "." + id.name
	}
	return id.name
}

// calls are the functions that each function of some packages mentions, in the order of their text.
type calls struct {
	of      map[funcID][]mention
	types   []*types.Named // of the packages, for calls through interfaces
	methods map[*types.Func][]funcID
}

type mention struct {
	id      funcID
	dynamic bool // one of several that an interface may stand for
}

func newCalls(pkgs []*packages.Package, outputs []File) *calls {
	c := &calls{of: map[funcID][]mention{}, methods: map[*types.Func][]funcID{}}
	generated := map[string]bool{}
	for _, f := range outputs {
		generated[f.Path] = true
	}
	own := map[*types.Package]bool{}
	for _, p := range pkgs {
		if own[p.Types] = true; p.Types == nil {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if t, ok := p.Types.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
				if named, ok := t.Type().(*types.Named); ok && named.TypeParams().Len() == 0 && !types.IsInterface(named) {
					c.types = append(c.types, named)
				}
			}
		}
	}
	for _, p := range pkgs {
		for _, file := range p.Syntax {
			if generated[p.Fset.Position(file.Package).Filename] {
				continue
			}
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
					if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
						c.of[idOf(obj)] = c.mentions(p, own, fn.Body)
					}
				}
			}
		}
	}
	return c
}

// mentions are the functions that a body calls, or hands on to be called. What a go statement calls runs beside it.
func (c *calls) mentions(p *packages.Package, own map[*types.Package]bool, body ast.Node) []mention {
	var all []mention
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			for _, arg := range node.Call.Args {
				all = append(all, c.mentions(p, own, arg)...)
			}
			return false
		case *ast.Ident:
			fn, ok := p.TypesInfo.Uses[node].(*types.Func)
			if !ok {
				return true
			}
			if recv := fn.Signature().Recv(); recv == nil || !types.IsInterface(recv.Type()) {
				all = append(all, mention{id: idOf(fn)})
			} else if own[fn.Pkg()] {
				for _, id := range c.implementations(fn, recv.Type()) {
					all = append(all, mention{id: id, dynamic: true})
				}
			}
		}
		return true
	})
	return all
}

// implementations are the methods of the packages that a method of an interface may stand for.
func (c *calls) implementations(fn *types.Func, of types.Type) []funcID {
	fn = fn.Origin()
	if found, ok := c.methods[fn]; ok {
		return found
	}
	var found []funcID
	iface, _ := of.Underlying().(*types.Interface)
	for _, named := range c.types {
		if iface == nil || !types.Implements(types.NewPointer(named), iface) {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, fn.Pkg(), fn.Name())
		if method, ok := obj.(*types.Func); ok {
			found = append(found, idOf(method))
		}
	}
	c.methods[fn] = found
	return found
}

// A reached wrapper is one that a function calls, itself or by way of others.
type reached struct {
	unit    *unit
	path    string
	dynamic bool
}

// wrappersFrom are the wrappers that a function reaches: first by calls that lead to one place only, then by those through
// interfaces.
func (c *calls) wrappersFrom(start funcID, wrappers map[funcID]*unit) []reached {
	all := c.follow(start, wrappers, false)
	for _, r := range c.follow(start, wrappers, true) {
		if !slices.ContainsFunc(all, func(known reached) bool { return known.unit == r.unit }) {
			all = append(all, r)
		}
	}
	return all
}

// follow follows the calls of a function, breadth first, up to the wrappers.
func (c *calls) follow(start funcID, wrappers map[funcID]*unit, dynamic bool) []reached {
	type step struct {
		id   funcID
		path []string
	}
	seen := map[funcID]bool{start: true}
	var all []reached
	for todo := []step{{start, []string{start.short()}}}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		for _, m := range c.of[at.id] {
			if seen[m.id] || m.dynamic && !dynamic {
				continue
			}
			seen[m.id] = true
			path := append(slices.Clip(at.path), m.id.short())
			if u := wrappers[m.id]; u != nil {
				all = append(all, reached{u, strings.Join(path, " → "), dynamic})
			} else {
				todo = append(todo, step{m.id, path})
			}
		}
	}
	return all
}

// pathPattern is a folder as the go command takes it.
func pathPattern(base, dir string) string {
	if rel, err := filepath.Rel(base, dir); err == nil {
		return strings.TrimSuffix("."+string(filepath.Separator)+rel, string(filepath.Separator)+".")
	}
	return dir
}
