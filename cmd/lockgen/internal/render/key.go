package render

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// buildKeys declares the keys that have to be built. It reports whether that declared the error as well.
func (w *wrapper) buildKeys(g *jen.Group) bool {
	declared := false
	for i, key := range w.Keys {
		if w.guardParts(g, key); w.constantKey(i) {
			if len(w.Keys) > 1 {
				g.Const().Id(w.keys[i]).Op("=").Add(w.constantText(i))
			}
			continue
		}
		g.List(jen.Id(w.keys[i]), jen.Id(w.err)).Op(":=").Add(w.buildKey(key))
		g.If(jen.Id(w.err).Op("!=").Nil()).Block(w.leave(nil)...)
		declared = true
	}
	return declared
}

// constantKey tells whether the text of a key is known now.
func (w *wrapper) constantKey(i int) bool {
	for _, part := range w.Keys[i].Parts {
		if part.Hole != nil {
			return false
		}
	}
	return true
}

func (w *wrapper) constantText(i int) *jen.Statement {
	if ref := w.Keys[i].Key.Const; ref != nil {
		return w.constant(ref)
	}
	var text strings.Builder
	for _, part := range w.Keys[i].Parts {
		text.WriteString(part.Text)
	}
	return jen.Lit(text.String())
}

// keyExpr is how the body refers to a key.
func (w *wrapper) keyExpr(i int) *jen.Statement {
	if w.constantKey(i) && len(w.Keys) == 1 {
		return w.constantText(i)
	}
	return jen.Id(w.keys[i])
}

// buildKey is the call of BuildKey, on one line if that stays readable.
func (w *wrapper) buildKey(key *directive.BoundKey) *jen.Statement {
	var parts []jen.Code
	length := 0
	for i := range key.Parts {
		part := &key.Parts[i]
		if part.Hole == nil {
			parts = append(parts, jen.Qual(directive.RuntimePath, "KeyText").Call(jen.Lit(part.Text)))
			length += len(part.Text)
			continue
		}
		parts = append(parts, w.partExpr(part))
		length += 2 * len(part.Hole.Name())
	}
	build := jen.Qual(directive.RuntimePath, "BuildKey")
	if length+20*len(parts) <= 80 {
		return build.Call(parts...)
	}
	return build.Custom(jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}, parts...)
}

// partExpr is one placeholder.
func (w *wrapper) partExpr(part *directive.BoundPart) *jen.Statement {
	var s *jen.Statement
	if local := w.parts[part]; local != "" {
		s = jen.Id(local)
	} else {
		s = w.valueExpr(part)
	}
	switch part.Hole.Filter {
	case directive.FilterLower:
		s.Dot("Lower").Call()
	case directive.FilterHash:
		s.Dot("Hash").Call()
	case directive.FilterText:
		s.Dot("Text").Call()
	}
	if part.Hole.Optional {
		s.Dot("Optional").Call()
	}
	return s
}

// constructors by the kind of value. A value of another type does not fit, so that generated code breaks the build when
// it is stale.
var constructors = map[directive.Kind]string{
	directive.KindString:   "KeyString",
	directive.KindInt:      "KeyInt",
	directive.KindUint:     "KeyUint",
	directive.KindBool:     "KeyBool",
	directive.KindBasic:    "KeyBasic",
	directive.KindText:     "KeyMarshaler",
	directive.KindStringer: "KeyStringer",
	directive.KindTime:     "KeyTime",
	directive.KindLen:      "KeyInt",
}

func (w *wrapper) valueExpr(part *directive.BoundPart) *jen.Statement {
	v, name := part.Value, jen.Lit(part.Hole.Name())
	value := w.path(v, len(v.Steps))
	constructor := jen.Qual(directive.RuntimePath, constructors[v.Kind])
	switch {
	case v.Kind == directive.KindLen && v.Deref:
		return constructor.Call(name, jen.Len(jen.Op("*").Add(value)))
	case v.Kind == directive.KindLen:
		return constructor.Call(name, jen.Len(value))
	case v.Addr:
		return constructor.Call(name, jen.Op("&").Add(value))
	case v.Deref && v.Kind != directive.KindText && v.Kind != directive.KindStringer:
		return jen.Qual(directive.RuntimePath, "KeyPtr").Call(name, value, constructor)
	}
	return constructor.Call(name, value)
}

// path selects the first n fields on the way to a value.
func (w *wrapper) path(v *directive.Value, n int) *jen.Statement {
	s := jen.Id(w.recv)
	switch {
	case v.From == directive.FromParam:
		s = jen.Id(w.params[v.Param])
	case w.copied != "":
		s = jen.Id(w.copied)
	}
	for _, step := range v.Steps[:n] {
		s.Dot(step.Name)
	}
	return s
}

// guardParts reads the values behind pointers into locals, so that a nil on the way is an error of the key.
func (w *wrapper) guardParts(g *jen.Group, key *directive.BoundKey) {
	for i := range key.Parts {
		part := &key.Parts[i]
		local := w.parts[part]
		if local == "" {
			continue
		}
		var reachable *jen.Statement
		and := func(pointer *jen.Statement) {
			if reachable != nil {
				reachable.Op("&&")
			} else {
				reachable = &jen.Statement{}
			}
			reachable.Add(pointer).Op("!=").Nil()
		}
		v := part.Value
		for n := range v.Steps {
			if w.mayBeNil(v, n) {
				and(w.path(v, n))
			}
		}
		if v.Kind == directive.KindLen && v.Deref {
			and(w.path(v, len(v.Steps)))
		}
		g.Id(local).Op(":=").Qual(directive.RuntimePath, "KeyNil").Call(jen.Lit(part.Hole.Name()))
		g.If(reachable).Block(jen.Id(local).Op("=").Add(w.valueExpr(part)))
	}
}
