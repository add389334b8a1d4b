package render

import (
	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// do is the call of Do, DoAll or DoEach, or of their likes with a transaction, with the closure that calls the function.
func (w *wrapper) do() *jen.Statement {
	method, key := "Do", w.keyExpr(0)
	leaseType := jen.Op("*").Qual(directive.RuntimePath, "Lease")
	if len(w.Keys) > 1 {
		method, leaseType = "DoAll", jen.Qual(directive.RuntimePath, "Leases")
		if w.each() {
			method = "DoEach"
		}
		key = w.keyList(w.keyExpr)
	}
	ctx, lease := "_", "_"
	if w.usesContext() {
		ctx = w.ctx
	}
	if w.lease != "" {
		lease = w.lease
	}
	if w.Tx != nil {
		return jen.Qual(sqlstorePath, method+"Tx").Call(jen.Id(w.ctx), w.lockerExpr(), key, w.options(),
			w.pathOf(w.Tx, len(w.Tx.Fields)), jen.Func().Params(jen.Id(ctx).Qual("context", "Context"),
				jen.Id(w.tx).Op("*").Qual("database/sql", "Tx"), jen.Id(lease).Add(leaseType)).Error().BlockFunc(w.closure))
	}
	params := []jen.Code{jen.Id(ctx).Qual("context", "Context"), jen.Id(lease).Add(leaseType)}
	if ctx == "_" && lease == "_" {
		params = []jen.Code{jen.Qual("context", "Context"), leaseType}
	}
	return w.lockerExpr().Dot(method).Call(jen.Id(w.ctx), key, w.options(),
		jen.Func().Params(params...).Error().BlockFunc(w.closure))
}

func (w *wrapper) closure(g *jen.Group) {
	if w.ran != "" {
		g.Id(w.ran).Op("=").True()
	}
	call := w.call()
	var left []jen.Code
	for _, name := range w.results {
		left = append(left, jen.Id(name))
	}
	switch {
	case w.AddsError && len(left) == 0:
		g.Add(call)
		g.Return(jen.Nil())
	case w.AddsError:
		g.List(left...).Op("=").Add(call)
		g.Return(jen.Nil())
	case len(left) == 0:
		g.Return(call)
	default:
		g.Var().Id(w.err).Error()
		g.List(append(left, jen.Id(w.err))...).Op("=").Add(call)
		g.Return(jen.Id(w.err))
	}
}

// call is the call of the annotated function.
func (w *wrapper) call() *jen.Statement {
	args := func(g *jen.Group) {
		for i, p := range w.Params {
			switch {
			case p.Role == directive.RoleFence:
				g.Add(w.leaseExpr(p.Key)).Dot("Fence").Call()
			case p.Role == directive.RoleLease:
				g.Add(w.leaseExpr(p.Key))
			case p.Role == directive.RoleTx:
				g.Id(w.tx)
			case p.Variadic:
				g.Id(w.params[i]).Op("...")
			default:
				g.Id(w.params[i])
			}
		}
	}
	return w.callee().CallFunc(args)
}

func (w *wrapper) callee() *jen.Statement {
	if w.Recv != nil {
		return jen.Id(w.recv).Dot(w.Decl.Name.Name)
	}
	callee := jen.Id(w.Decl.Name.Name)
	if len(w.typeParams) > 0 {
		var codes []jen.Code
		for _, name := range w.typeParams {
			codes = append(codes, jen.Id(name))
		}
		callee.Index(jen.List(codes...))
	}
	return callee
}

func (w *wrapper) leaseExpr(key int) *jen.Statement {
	if len(w.Keys) == 1 {
		return jen.Id(w.lease)
	}
	return jen.Id(w.lease).Dot("Lease").Call(w.keyExpr(key))
}
