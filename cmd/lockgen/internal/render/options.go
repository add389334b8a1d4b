package render

import (
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// options is the lockrt.Options literal, on one line while that is short.
func (w *wrapper) options() *jen.Statement {
	fields := w.fields(directive.LockOptions)
	if !w.each() {
		fields = append(fields, w.kindFields(w.Keys[0].Key)...)
	}
	return literal(jen.Qual(directive.RuntimePath, "Options"), fields, 3)
}

// fields are the fields of a struct that the directive sets: only what differs from the zero value.
func (w *wrapper) fields(of directive.Struct) []jen.Code {
	var fields []jen.Code
	for s := range w.Directive.Settings() {
		if s.Sets.Of == of && s.Sets.Name != "" && !s.Zero() {
			fields = append(fields, jen.Id(s.Sets.Name).Op(":").Add(w.setting(s)))
		}
	}
	return fields
}

// setting is what an option is set to, or the constant that says so.
func (w *wrapper) setting(s directive.Setting) *jen.Statement {
	if ref := s.Value.Constant(); ref != nil {
		return w.constant(ref)
	}
	switch v := s.Value.(type) {
	case *directive.Duration:
		return w.duration(v)
	case *directive.Int:
		return jen.Lit(v.Value)
	case *directive.String:
		if s.Word {
			return jen.Qual(structPath[s.Sets.Of], s.Sets.Name+upperFirst(v.Value))
		}
		return jen.Lit(v.Value)
	}
	return jen.True() // a switch that is not at its zero value
}

// structPath is where the structs that options set fields of are declared.
var structPath = map[directive.Struct]string{directive.LockOptions: directive.RuntimePath, directive.Job: jobsPath}

// literal is a composite literal, on one line if it has at most inline fields.
func literal(typ *jen.Statement, fields []jen.Code, inline int) *jen.Statement {
	return typ.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: len(fields) > inline}, fields...)
}

func (w *wrapper) duration(d *directive.Duration) *jen.Statement {
	if d.Forever {
		return jen.Qual(directive.RuntimePath, "Forever")
	}
	return durationExpr(d.Value)
}

// constant refers to a constant of this package or another one.
func (c *copier) constant(ref *directive.ConstRef) *jen.Statement {
	if ref.Object != nil && ref.Object.Pkg() != c.local {
		return jen.Qual(ref.Object.Pkg().Path(), ref.Name)
	}
	return jen.Id(ref.Name)
}

// durationExpr writes a duration in the largest unit that divides it.
func durationExpr(d time.Duration) *jen.Statement {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"},
		{time.Microsecond, "Microsecond"}, {time.Nanosecond, "Nanosecond"},
	} {
		if d%unit.size != 0 {
			continue
		}
		if d == unit.size {
			return jen.Qual("time", unit.name)
		}
		return jen.Lit(int(d/unit.size)).Op("*").Qual("time", unit.name)
	}
	return jen.Lit(int(d))
}
