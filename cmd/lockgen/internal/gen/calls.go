package gen

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// A funcID names a function or method, whatever its type arguments are.
type funcID struct{ pkg, recv, name string }

func idOf(fn *types.Func) funcID {
	fn = fn.Origin()
	id := funcID{name: fn.Name()}
	if fn.Pkg() != nil {
		id.pkg = fn.Pkg().Path()
	}
	if recv := fn.Signature().Recv(); recv != nil {
		if named := bound.ReceiverNamed(recv.Type()); named != nil {
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
	unit    *bound.Func
	path    string
	dynamic bool
}

// wrappersFrom are the wrappers that a function reaches: first by calls that lead to one place only, then by those through
// interfaces.
func (c *calls) wrappersFrom(start funcID, wrappers map[funcID]*bound.Func) []reached {
	all := c.follow(start, wrappers, false)
	for _, r := range c.follow(start, wrappers, true) {
		if !slices.ContainsFunc(all, func(known reached) bool { return known.unit == r.unit }) {
			all = append(all, r)
		}
	}
	return all
}

// follow follows the calls of a function, breadth first, up to the wrappers.
func (c *calls) follow(start funcID, wrappers map[funcID]*bound.Func, dynamic bool) []reached {
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
