package directive

import (
	"go/ast"
	"go/types"
	"slices"
)

// signature reads the receiver, the parameters with their roles and the results.
func (b *binder) signature() {
	b.types = map[*Param]types.Type{}
	if recv := b.Decl.Recv; recv != nil && len(recv.List) > 0 {
		field := recv.List[0]
		b.f.Recv = newParam(field, firstName(field))
		b.f.RecvType = baseName(field.Type)
		if b.sig != nil {
			b.know(b.f.Recv, b.sig.Recv().Type())
		}
	}
	for _, field := range b.Decl.Type.Params.List {
		if len(field.Names) == 0 {
			b.f.Params = append(b.f.Params, newParam(field, nil))
		}
		for _, name := range field.Names {
			b.f.Params = append(b.f.Params, newParam(field, name))
		}
	}
	for i, p := range b.f.Params {
		if b.sig != nil && i < b.sig.Params().Len() {
			b.know(p, b.sig.Params().At(i).Type())
		}
		if b.types[p] == nil {
			b.types[p] = b.syntaxType(p)
		}
	}
	b.roles()
	b.f.AddsError = b.addsError()
	if b.d.Cron != nil && b.Decl.Recv == nil && b.Decl.Type.TypeParams != nil {
		b.add(b.d.Cron.Pos, b.d.Cron.End, "cron-generic",
			"%s is generic, and a scheduled job has nobody to choose its type arguments: schedule a function without type parameters that calls it", b.fn())
	}
}

// know records a type from the type checker. Invalid ones stay unknown: the type may not be generated yet.
func (b *binder) know(p *Param, t types.Type) {
	if types.Unalias(t) == types.Typ[types.Invalid] {
		return
	}
	p.Type, b.types[p] = t, t
}

func firstName(field *ast.Field) *ast.Ident {
	if len(field.Names) == 0 {
		return nil
	}
	return field.Names[0]
}

func newParam(field *ast.Field, name *ast.Ident) *Param {
	p := &Param{Ident: name, Expr: field.Type}
	if name != nil && name.Name != "_" {
		p.Name = name.Name
	}
	if dots, ok := field.Type.(*ast.Ellipsis); ok {
		p.Expr, p.Variadic = dots.Elt, true
	}
	return p
}

// written is the parameter's type as it stands in the source.
func (p *Param) written() string {
	if p.Variadic {
		return "..." + types.ExprString(p.Expr)
	}
	return types.ExprString(p.Expr)
}

// baseName is the receiver's type without pointer and type parameters.
func baseName(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.ParenExpr:
			expr = e.X
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// roles says what the wrapper does with each parameter. The i-th fence and the i-th lease belong to the i-th key.
func (b *binder) roles() {
	fences, leases := 0, 0
	for i, p := range b.f.Params {
		t := b.types[p]
		switch {
		case p.Variadic:
			continue
		case t == nil:
			b.f.NeedsTypes = b.f.NeedsTypes || b.maybeSpecial(p)
		case isNamed(t, "context", "Context"):
			if i > 0 {
				b.whole("context", "%s takes its context.Context as parameter %d, and the lease's context takes the place of the first: move it to the front", b.fn(), i+1)
				continue
			}
			p.Role = RoleContext
		case isNamed(t, RuntimePath, "Fence"):
			p.Role, p.Key = RoleFence, fences
			fences++
		case isPointerTo(t, RuntimePath, "Lease"):
			p.Role, p.Key = RoleLease, leases
			leases++
		case isNamed(t, RuntimePath, "Lease"):
			b.whole("lease", "%s takes a lockrt.Lease by value, and a copy of a lease is none: write *lockrt.Lease", b.fn())
		case isPointerTo(t, RuntimePath, "Fence"):
			b.whole("lease", "%s takes a pointer to a lockrt.Fence, which is a number: write lockrt.Fence", b.fn())
		}
	}
	b.count("lockrt.Fence", fences)
	b.count("*lockrt.Lease", leases)
}

func (b *binder) count(what string, n int) {
	if keys := max(len(b.d.Keys), 1); n > keys {
		b.whole("lease", "%s takes %d parameters of type %s for %d key%s, and each belongs to one key: delete a parameter, or add a key", b.fn(), n, what, keys, plural(keys))
	}
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// maybeSpecial reports whether a parameter of unknown type could have a role: a name of this package could be an alias
// of a context, a fence or a lease. An alias in another package would go unnoticed; asking for types wherever a
// parameter has a qualified type would make them necessary nearly everywhere.
func (b *binder) maybeSpecial(p *Param) bool {
	expr := ast.Unparen(p.Expr)
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = ast.Unparen(star.X)
	}
	id, ok := expr.(*ast.Ident)
	return ok && !b.isTypeParam(id.Name)
}

// isTypeParam reports whether a name is a type parameter of the function or of its receiver.
func (b *binder) isTypeParam(name string) bool {
	if b.Decl.Type.TypeParams != nil {
		for _, field := range b.Decl.Type.TypeParams.List {
			for _, id := range field.Names {
				if id.Name == name {
					return true
				}
			}
		}
	}
	if b.Decl.Recv == nil || len(b.Decl.Recv.List) == 0 {
		return false
	}
	return slices.Contains(receiverTypeParams(b.Decl.Recv.List[0].Type), name)
}

func receiverTypeParams(expr ast.Expr) []string {
	var args []ast.Expr
	switch e := ast.Unparen(expr).(type) {
	case *ast.StarExpr:
		return receiverTypeParams(e.X)
	case *ast.IndexExpr:
		args = []ast.Expr{e.Index}
	case *ast.IndexListExpr:
		args = e.Indices
	}
	var names []string
	for _, arg := range args {
		if id, ok := arg.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}

// addsError reports whether the body's last result is something else than an error.
func (b *binder) addsError() bool {
	results := b.Decl.Type.Results
	if results == nil || len(results.List) == 0 {
		return true
	}
	if b.sig != nil && b.sig.Results().Len() > 0 {
		last := b.sig.Results().At(b.sig.Results().Len() - 1).Type()
		if types.Unalias(last) != types.Typ[types.Invalid] {
			return !types.Identical(last, types.Universe.Lookup("error").Type())
		}
	}
	id, ok := ast.Unparen(results.List[len(results.List)-1].Type).(*ast.Ident)
	return !ok || id.Name != "error"
}
