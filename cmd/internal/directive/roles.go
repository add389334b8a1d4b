package directive

import (
	"go/ast"
	"slices"
)

// roles says what the wrapper does with each parameter. The i-th fence and the i-th lease belong to the i-th key.
func (b *binder) roles() {
	fences, leases := 0, 0
	for i, p := range b.f.Params {
		t := b.types[p]
		switch {
		case t == nil:
			b.f.NeedsTypes = b.f.NeedsTypes || b.maybeSpecial(p)
		case isNamed(t, "context", "Context"):
			if i > 0 {
				b.whole("context",
					"%s takes its context.Context as parameter %d, and the lease's context takes the place of the first: move it to "+
						"the front", b.fn(), i+1)
				continue
			}
			p.Role = RoleContext
		case isNamed(t, RuntimePath, "Fence"):
			p.Role, p.Key = RoleFence, fences
			fences++
		case isPointerTo(t, RuntimePath, "Lease"):
			p.Role, p.Key = RoleLease, leases
			leases++
		case b.d.Tx != nil && isPointerTo(t, "database/sql", "Tx"):
			p.Role = RoleTx
		case b.d.Tx != nil && isNamed(t, "database/sql", "Tx"):
			p.Role = RoleTx
			b.whole("tx", "%s takes a sql.Tx by value, and a copy of a transaction is none: write *sql.Tx", b.fn())
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
		b.whole("lease",
			"%s takes %d parameters of type %s for %d key%s, and each belongs to one key: delete a parameter, or add a key",
			b.fn(), n, what, keys, plural(keys))
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
	return slices.Contains(ReceiverTypeParams(b.Decl.Recv.List[0].Type), name)
}
