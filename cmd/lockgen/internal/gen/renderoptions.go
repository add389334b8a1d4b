package gen

import (
	"time"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// options is the lockrt.Options literal: only what differs from the zero value, on one line while that is short.
func (w *wrapper) options() *jen.Statement {
	d := w.Directive
	var fields []jen.Code
	field := func(name string, value *jen.Statement) {
		fields = append(fields, jen.Id(name).Op(":").Add(value))
	}
	field("TTL", w.duration(d.TTL))
	if d.Wait != nil && (d.Wait.Forever || d.Wait.Value != 0 || d.Wait.Const != nil) {
		field("Wait", w.duration(d.Wait))
	}
	if d.MinHold != nil {
		field("MinHold", w.duration(d.MinHold))
	}
	if d.MaxHold != nil {
		field("MaxHold", w.duration(d.MaxHold))
	}
	if !d.Renews() {
		field("NoRenew", jen.True())
	}
	if d.Reentrant != nil && d.Reentrant.Value {
		field("Reentrant", jen.True())
	}
	return literal(jen.Qual(runtimePath, "Options"), fields, 3)
}

// literal is a composite literal, on one line if it has at most inline fields.
func literal(typ *jen.Statement, fields []jen.Code, inline int) *jen.Statement {
	return typ.Custom(jen.Options{Open: "{", Close: "}", Separator: ",", Multi: len(fields) > inline}, fields...)
}

func (w *wrapper) duration(d *directive.Duration) *jen.Statement {
	switch {
	case d.Const != nil:
		return w.constant(d.Const)
	case d.Forever:
		return jen.Qual(runtimePath, "Forever")
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
