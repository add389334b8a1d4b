package render

import (
	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// kindFields say how a key is held, as fields of lockrt.Options and of lockrt.KeyOptions: none for one that is held alone.
func (w *wrapper) kindFields(k *directive.Key) []jen.Code {
	switch {
	case k.Reads():
		return []jen.Code{jen.Id("Mode").Op(":").Qual(directive.RuntimePath, "Read")}
	case k.Permits == nil:
		return nil
	case k.Permits.Const != nil:
		return []jen.Code{jen.Id("Permits").Op(":").Add(w.constant(k.Permits.Const))}
	}
	return []jen.Code{jen.Id("Permits").Op(":").Lit(k.Permits.Value)}
}

// each tells whether the keys are held in different ways, so that each says its own.
func (w *wrapper) each() bool { return w.Directive.Mixed() }

// keyList is the keys as the runtime takes them: texts, or texts with how each is held.
func (w *wrapper) keyList(expr func(i int) *jen.Statement) *jen.Statement {
	return w.keyListType().ValuesFunc(func(g *jen.Group) {
		for i, key := range w.Keys {
			if !w.each() {
				g.Add(expr(i))
				continue
			}
			g.Values(append([]jen.Code{jen.Id("Key").Op(":").Add(expr(i))}, w.kindFields(key.Key)...)...)
		}
	})
}

func (w *wrapper) keyListType() *jen.Statement {
	if w.each() {
		return jen.Index().Qual(directive.RuntimePath, "KeyOptions")
	}
	return jen.Index().String()
}

// keyIn is the text of an element of the list.
func (w *wrapper) keyIn(element *jen.Statement) *jen.Statement {
	if w.each() {
		return element.Dot("Key")
	}
	return element
}
