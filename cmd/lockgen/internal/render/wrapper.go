package render

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

func (w *wrapper) render(g *jen.Group) {
	made := w.Fingerprint()
	made.Code = openSum
	for _, line := range append(w.docLines(), "//", made.String()) {
		g.Comment(line)
	}
	fn := g.Func()
	if w.Recv != nil {
		fn.Params(jen.Id(w.recv).Add(w.expr(w.Decl.Recv.List[0].Type)))
	}
	fn.Id(w.Name)
	if params := w.typeParamList(); len(params) > 0 {
		fn.Index(jen.List(params...))
	}
	fn.Params(w.paramList()...)
	fn.Add(w.resultList())
	fn.BlockFunc(w.body)
}

func (w *wrapper) typeParamList() []jen.Code {
	var codes []jen.Code
	if w.Decl.Type.TypeParams == nil {
		return nil
	}
	next := 0
	for _, field := range w.Decl.Type.TypeParams.List {
		codes = append(codes, named(w.typeParams[next:next+len(field.Names)], w.expr(field.Type)))
		next += len(field.Names)
	}
	return codes
}

// paramList is the wrapper's parameters: a context first, then those of the function that callers pass, grouped as in
// the source.
func (w *wrapper) paramList() []jen.Code {
	var codes []jen.Code
	if !w.usesContext() {
		codes = append(codes, jen.Id(w.ctx).Qual("context", "Context"))
		codes = append(codes, w.locksParam()...)
	}
	next := 0
	for _, field := range w.Decl.Type.Params.List {
		var idents []string
		for range max(1, len(field.Names)) {
			if w.params[next] != "" {
				idents = append(idents, w.params[next])
			}
			next++
		}
		if len(idents) > 0 {
			codes = append(codes, named(idents, w.expr(field.Type)))
		}
		if next == 1 && w.usesContext() {
			codes = append(codes, w.locksParam()...)
		}
	}
	return codes
}

func (w *wrapper) locksParam() []jen.Code {
	if w.locks == "" {
		return nil
	}
	return []jen.Code{jen.Id(w.locks).Op("*").Qual(directive.RuntimePath, "Locker")}
}

func (w *wrapper) resultList() *jen.Statement {
	types := w.resultTypes()
	if !w.named {
		var codes []jen.Code
		for _, typ := range types {
			codes = append(codes, w.expr(typ))
		}
		return jen.Params(append(codes, jen.Error())...)
	}
	names := append(slices.Clone(w.results), w.err)
	var codes []jen.Code
	for _, field := range w.Decl.Type.Results.List { // grouped as in the source
		n := max(1, len(field.Names))
		codes = append(codes, named(names[:n], w.expr(field.Type)))
		names = names[n:]
	}
	if w.AddsError {
		codes = append(codes, jen.Id(w.err).Error())
	}
	return jen.Params(codes...)
}

// body acquires, calls and returns. It is written the way a careful person would: nothing is declared that is not used.
func (w *wrapper) body(g *jen.Group) {
	w.declareResults(g)
	declared := w.buildKeys(g) || w.named
	w.guardSources(g)
	skips := w.Directive.SkipsBusy()
	if skips {
		g.Id(w.ran).Op(":=").False()
	}
	do := w.do()
	if len(w.results) == 0 && !skips {
		g.Return(do)
		return
	}
	assign := ":="
	if declared {
		assign = "="
	}
	g.Id(w.err).Op(assign).Add(do)
	if skips {
		// A body that ran may return somebody else's ErrBusy as its own: that one is the caller's to see. So is the end of
		// the context while waiting, which comes together with ErrBusy.
		busy := jen.Qual(directive.RuntimePath, "ErrBusy")
		g.If(jen.Op("!").Id(w.ran).Op("&&").Qual("errors", "Is").Call(jen.Id(w.err), busy).
			Op("&&").Id(w.ctx).Dot("Err").Call().Op("==").Nil()).Block(
			w.leave(jen.Nil())...)
	}
	for _, code := range w.leave(nil) {
		g.Add(code)
	}
}

// declareResults declares the results that are not named in the signature.
func (w *wrapper) declareResults(g *jen.Group) {
	if w.named {
		return
	}
	types := w.resultTypes()
	if len(types) == 1 {
		g.Var().Id(w.results[0]).Add(w.expr(types[0]))
	}
	if len(types) > 1 {
		var specs []jen.Code
		for i, typ := range types {
			specs = append(specs, jen.Id(w.results[i]).Add(w.expr(typ)))
		}
		g.Var().Defs(specs...)
	}
}

// leave returns the results with an error; nil stands for the variable that holds one.
func (w *wrapper) leave(err *jen.Statement) []jen.Code {
	switch {
	case w.bare && err == nil:
		return []jen.Code{jen.Return()}
	case w.bare:
		return []jen.Code{jen.Id(w.err).Op("=").Add(err), jen.Return()}
	case err == nil:
		err = jen.Id(w.err)
	}
	var codes []jen.Code
	for _, name := range w.results {
		codes = append(codes, jen.Id(name))
	}
	return []jen.Code{jen.Return(append(codes, err)...)}
}
