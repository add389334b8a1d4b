package gen

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// listLocally is the package of a group of directives, nil if only the go command can tell what belongs to it.
func (g *generator) listLocally(l *lister, mine []*annotated) *packages.Package {
	dir := mine[0].folder.dir
	if g.modules.of(dir) != g.modules.of(g.cfg.Dir) {
		return nil // in a workspace; elsewhere the go command refuses it
	}
	p := l.list(dir, mine[0].set.kind())
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
func (g *generator) bindLocally(check *checker, p *packages.Package, mine []*annotated) bool {
	units, problems := g.bindListed(check, p, mine)
	if len(problems) > 0 {
		return false
	}
	for _, u := range units {
		if !u.understood(p) {
			return false
		}
	}
	g.units = append(g.units, units...)
	return true
}

// understood tells whether everything about a function is known although packages of other modules are not and the
// standard library is stood in for.
func (u *unit) understood(p *packages.Package) bool {
	if u.NeedsTypes || u.unresolved() || !u.qualifiersKnown(p) {
		return false
	}
	for _, param := range u.Params {
		if param.Type == nil || u.Directive.Cron != nil && stoodIn(param.Type, p) {
			return false
		}
	}
	if token.IsExported(u.Name) && u.Recv != nil && embedsStandIn(receiverNamed(u.Recv.Type), p, map[types.Type]bool{}) {
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
	return path != p.PkgPath && (isStandard(path) || path == runtimePath) && !exact(path, named.Obj().Name())
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
func (u *unit) qualifiersKnown(p *packages.Package) bool {
	known := true
	look := func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				pkg, ok := u.info.Uses[x].(*types.PkgName)
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
