package render

import (
	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// keysChange tells whether the keys of a job are built before each run. Those that cannot change are built when it is
// registered, and one that cannot be built is reported then.
func (w *wrapper) keysChange() bool { return w.KeysChange(w.recvPointer) }

// keysField is the field of a job that says which locks it holds.
func (w *wrapper) keysField() (name string, value jen.Code) {
	name = "Keys"
	if w.each() {
		name = "Each"
	}
	switch {
	case w.keysFunc != "":
		return name + "Func", jen.Id(w.keysFunc)
	case w.keysChange():
		return name + "Func", w.keysLit()
	}
	return name, w.keyList(w.jobKeyExpr)
}

// keysLit is the function that builds the keys of a run.
func (w *wrapper) keysLit() *jen.Statement {
	return jen.Func().Params().Params(w.keyListType(), jen.Error()).BlockFunc(func(g *jen.Group) {
		if w.copied != "" && w.keysReadReceiver() {
			g.Id(w.copied).Op(":=").Op("*").Id(w.recv)
		}
		last := len(w.Keys) - 1
		for last >= 0 && w.constantKey(last) {
			last--
		}
		for i, key := range w.Keys {
			if w.constantKey(i) {
				continue
			}
			w.guardParts(g, key)
			g.List(jen.Id(w.keys[i]), jen.Id(w.err)).Op(":=").Add(w.buildKey(key))
			if i < last {
				g.If(jen.Id(w.err).Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Id(w.err)))
			}
		}
		g.Return(w.keyList(func(i int) *jen.Statement {
			if w.constantKey(i) {
				return w.constantText(i)
			}
			return jen.Id(w.keys[i])
		}), jen.Id(w.err))
	})
}

func (w *wrapper) keysReadReceiver() bool {
	for _, key := range w.Keys {
		for _, part := range key.Parts {
			if part.Value != nil && part.Value.From == directive.FromReceiver {
				return true
			}
		}
	}
	return false
}

// buildJobKeys declares what the job refers to: keys that cannot change, or the function that builds them. A constant key
// that is mentioned once stays where it is used.
func (w *wrapper) buildJobKeys(g *jen.Group) {
	if w.keysFunc != "" {
		g.Id(w.keysFunc).Op(":=").Add(w.keysLit())
	}
	if w.keysChange() {
		return
	}
	for i, key := range w.Keys {
		if w.guardParts(g, key); !w.constantKey(i) {
			g.List(jen.Id(w.keys[i]), jen.Id(w.err)).Op(":=").Add(w.buildKey(key))
			g.If(jen.Id(w.err).Op("!=").Nil()).Block(jen.Return(jen.Id(w.err)))
		} else if w.jobNames(i) {
			g.Const().Id(w.keys[i]).Op("=").Add(w.constantText(i))
		}
	}
}

// jobNames tells whether the run of a job asks for the lease of a key by its text: where there is only one key, the
// context's lease is that one's.
func (w *wrapper) jobNames(key int) bool {
	if len(w.Keys) == 1 {
		return false
	}
	for _, p := range w.Params {
		if p.Injected() && p.Key == key {
			return true
		}
	}
	return false
}

func (w *wrapper) jobKeyExpr(i int) *jen.Statement {
	if w.constantKey(i) && !w.jobNames(i) {
		return w.constantText(i)
	}
	return jen.Id(w.keys[i])
}

// jobLease is the lease of a key while the job runs.
func (w *wrapper) jobLease(key int) *jen.Statement {
	switch {
	case len(w.Keys) == 1:
		return jen.Qual(directive.RuntimePath, "FromContext").Call(jen.Id(w.ctx))
	case w.keysFunc != "":
		return jen.Qual(directive.RuntimePath, "Held").Call(jen.Id(w.ctx), w.keyIn(jen.Id(w.keysVar).Index(jen.Lit(key))))
	}
	return jen.Qual(directive.RuntimePath, "Held").Call(jen.Id(w.ctx), jen.Id(w.keys[key]))
}

// askForKeys builds the keys of a run again, to tell its leases apart. What the keys read may have changed since the
// locks were taken: then the run ends before it has begun.
func (w *wrapper) askForKeys(g *jen.Group) {
	if w.keysFunc == "" {
		return
	}
	g.List(jen.Id(w.keysVar), jen.Id(w.err)).Op(":=").Id(w.keysFunc).Call()
	g.If(jen.Id(w.err).Op("!=").Nil()).Block(jen.Return(jen.Id(w.err)))
	g.For(jen.List(jen.Id("_"), jen.Id(w.keyVar)).Op(":=").Range().Id(w.keysVar)).Block(
		jen.If(jen.Id(w.err).Op(":=").Qual(directive.RuntimePath, "AssertHeld").Call(jen.Id(w.ctx), w.keyIn(jen.Id(w.keyVar))),
			jen.Id(w.err).Op("!=").Nil()).Block(jen.Return(jen.Id(w.err))))
}
