package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
)

// listLocally is the package of a group of directives, nil if only the go command can tell what belongs to it.
func (l *loader) listLocally(folders *lister, mine []*annotated) *packages.Package {
	dir := mine[0].folder.Dir
	if l.Modules.Of(dir) != l.Modules.Of(l.Config.Dir) {
		return nil // in a workspace; elsewhere the go command refuses it
	}
	p := folders.list(dir, mine[0].set.Kind())
	if p == nil {
		return nil
	}
	for _, a := range mine {
		if len(a.Problems) > 0 || !slices.Contains(p.GoFiles, a.path()) {
			return nil
		}
	}
	return p
}

// bindLocally binds directives with what a lister knows. It reports whether that was enough: nothing is taken from it
// unless everything about every function is certain, and no problem is reported on the strength of it. Before a problem
// is reported, the go command is asked.
func (l *loader) bindLocally(check *decls.Checker, p *packages.Package, mine []*annotated) bool {
	units, problems := l.bindListed(check, p, mine)
	if len(problems) > 0 {
		return false
	}
	for _, u := range units {
		if !understood(u, p) {
			return false
		}
	}
	l.Funcs = append(l.Funcs, units...)
	return true
}

// understood tells whether everything about a function is known although packages of other modules are not and the
// standard library is stood in for.
func understood(u *bound.Func, p *packages.Package) bool {
	if u.NeedsTypes || unresolved(u) || !qualifiersKnown(u, p) {
		return false
	}
	for _, param := range u.Params {
		if param.Type == nil || u.Directive.Cron != nil && stoodIn(param.Type, p) {
			return false
		}
	}
	if results := u.Decl.Type.Results; results != nil {
		for _, field := range results.List {
			if holdsUnknown(u.Info.TypeOf(field.Type), p, map[types.Type]bool{}) {
				return false
			}
		}
	}
	if (token.IsExported(u.Name) || u.IsJob()) && u.Recv != nil &&
		embedsStandIn(bound.ReceiverNamed(u.Recv.Type), p, map[types.Type]bool{}) {
		return false // the wrapper may hide what is promoted from there
	}
	for _, key := range u.Keys {
		for _, part := range key.Parts {
			if part.Hole != nil && !certain(part) {
				return false
			}
		}
	}
	return true
}

// stoodIn tells whether a type is one that a stand-in has in its place.
func stoodIn(t types.Type, p *packages.Package) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return false
	}
	path := named.Obj().Pkg().Path()
	return path != p.PkgPath && (decls.IsStandard(path) || path == directive.RuntimePath) &&
		!decls.Exact(path, named.Obj().Name())
}

// embedsStandIn tells whether a struct embeds a type, however deep, whose fields and methods are not known.
func embedsStandIn(t types.Type, p *packages.Package, seen map[types.Type]bool) bool {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || seen[t] {
		return false
	}
	seen[t] = true
	for field := range s.Fields() {
		if !field.Embedded() {
			continue
		}
		elem := types.Unalias(field.Type())
		if pointer, ok := elem.(*types.Pointer); ok {
			elem = pointer.Elem()
		}
		if elem == types.Typ[types.Invalid] || stoodIn(elem, p) || embedsStandIn(elem, p, seen) {
			return true
		}
	}
	return false
}

// holdsUnknown tells whether it is not known if a copy of a value would copy a mutex.
func holdsUnknown(t types.Type, p *packages.Package, seen map[types.Type]bool) bool {
	t = types.Unalias(t)
	if t == nil || t == types.Typ[types.Invalid] {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	if named, ok := t.(*types.Named); ok && stoodIn(named, p) {
		return !decls.Plain(named.Obj().Pkg().Path(), named.Obj().Name())
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsUnknown(u.Elem(), p, seen)
	case *types.Struct:
		for field := range u.Fields() {
			if holdsUnknown(field.Type(), p, seen) {
				return true
			}
		}
	case *types.Basic:
		return u.Kind() == types.Invalid
	}
	return false
}

// certain tells whether the value of a placeholder is what it seems to be. A method may come from an embedded type that
// is not known, or be hidden by it; so may a field that is promoted.
func certain(part directive.BoundPart) bool {
	v := part.Value
	if v.Kind == directive.KindText || v.Kind == directive.KindStringer || v.Promoted {
		return false
	}
	t := types.Unalias(v.Type)
	if pointer, ok := t.(*types.Pointer); ok {
		t = types.Unalias(pointer.Elem())
	}
	param, ok := t.(*types.TypeParam)
	return !ok || constraintKnown(param.Constraint(), 0)
}

// constraintKnown looks for gaps in a constraint: an unknown element might narrow it.
func constraintKnown(t types.Type, depth int) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok || depth > 20 {
		return false
	}
	for e := range iface.EmbeddedTypes() {
		switch e := types.Unalias(e).(type) {
		case *types.Union:
		case *types.Named:
			if types.IsInterface(e) && !constraintKnown(e, depth+1) || !types.IsInterface(e) && e.Obj().Pkg() == nil {
				return false
			}
		case *types.Basic:
			if e.Kind() == types.Invalid {
				return false
			}
		}
	}
	return true
}

// qualifiersKnown tells whether every package that the signature names is one whose name is certain.
func qualifiersKnown(u *bound.Func, p *packages.Package) bool {
	known := true
	look := func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				pkg, ok := u.Info.Uses[x].(*types.PkgName)
				imported := ok && p.Imports[pkg.Imported().Path()] != nil
				known = known && imported && !p.Imports[pkg.Imported().Path()].IllTyped
			}
		}
		return known
	}
	ast.Inspect(u.Decl.Type, look)
	if u.Decl.Recv != nil {
		ast.Inspect(u.Decl.Recv, look)
	}
	return known
}
