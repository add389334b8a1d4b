package directive

import (
	"go/ast"
	"go/types"
)

// signature reads the receiver, the parameters with their roles and the results.
func (b *binder) signature() {
	b.types = map[*Param]types.Type{}
	if recv := b.Decl.Recv; recv != nil && len(recv.List) > 0 {
		field := recv.List[0]
		b.f.Recv = newParam(field, firstName(field))
		b.f.RecvType = ReceiverBase(field.Type)
		if b.sig != nil {
			b.know(b.f.Recv, b.sig.Recv().Type())
			if named := b.receiverNamed(); named != nil { // written as an alias, it is the same type
				b.f.RecvType = named.Obj().Name()
			}
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
	if b.d.Cron != nil {
		b.genericJob()
	}
}

// genericJob reports a job that one directive cannot name: a function with type parameters is none until somebody chooses
// them, and the method of a generic type is one for each instance.
func (b *binder) genericJob() {
	switch recv := b.f.Recv; {
	case recv != nil && len(ReceiverTypeParams(recv.Expr)) > 0:
		b.add(b.d.Cron.Pos, b.d.Cron.End, "cron-generic",
			"%s is a method of the generic type %s, and all instances of the type would share one job: schedule a function, or "+
				"a method of a type without type parameters, that calls it", b.fn(), b.f.RecvType)
	case b.Decl.Type.TypeParams != nil:
		b.add(b.d.Cron.Pos, b.d.Cron.End, "cron-generic",
			"%s is generic, and a scheduled job has no caller that chooses its type arguments: schedule a function without type "+
				"parameters that calls it", b.fn())
	}
}

// know records a type from the type checker. Invalid ones stay unknown: the type may not be generated yet.
func (b *binder) know(p *Param, t types.Type) {
	if unknown(t) {
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

// Text is the parameter's type as it stands in the source.
func (p *Param) Text() string {
	if p.Variadic {
		return "..." + types.ExprString(p.Expr)
	}
	return types.ExprString(p.Expr)
}

// addsError reports whether the body's last result is something else than an error.
func (b *binder) addsError() bool {
	results := b.Decl.Type.Results
	if results == nil || len(results.List) == 0 {
		return true
	}
	if b.sig != nil && b.sig.Results().Len() > 0 {
		last := b.sig.Results().At(b.sig.Results().Len() - 1).Type()
		b.f.NeedsTypes = b.f.NeedsTypes || unknown(last)
		return !types.Identical(last, types.Universe.Lookup("error").Type())
	}
	id, ok := ast.Unparen(results.List[len(results.List)-1].Type).(*ast.Ident)
	return !ok || id.Name != "error"
}
