package ll3008

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// cancelOf finds the function that cancels a context, as a test of values: the other result of what has made the
// context, or the field beside that of the context.
func cancelOf(r *check.Reporter, ctx ssa.Value) func(ssa.Value) bool {
	switch ctx := ctx.(type) {
	case *ssa.Extract:
		if maker := makerOf(ctx); maker != nil && ctx.Index == 0 {
			return func(v ssa.Value) bool {
				ex, ok := ssax.SoleValue(v).(*ssa.Extract)
				return ok && ex.Tuple == ssa.Value(maker) && ex.Index == 1
			}
		}
	case *ssa.UnOp:
		field, ok := ctx.X.(*ssa.FieldAddr)
		if !ok || ctx.Op != token.MUL || setIn(ctx.Parent(), ssax.FieldName(field.X.Type(), field.Field)) {
			break
		}
		name := cancelField(r, ssax.FieldName(field.X.Type(), field.Field))
		base := keyexpr.Of(field.X)
		return func(v ssa.Value) bool {
			load, ok := v.(*ssa.UnOp)
			if !ok || name == "" || !base.Known() {
				return false
			}
			fa, ok := load.X.(*ssa.FieldAddr)
			return ok && ssax.FieldName(fa.X.Type(), fa.Field) == name && keyexpr.Of(fa.X).String() == base.String()
		}
	}
	return func(ssa.Value) bool { return false }
}

// makerOf is the call of package context that has made a context together with what cancels it.
func makerOf(ctx *ssa.Extract) *ssa.Call {
	call, ok := ctx.Tuple.(*ssa.Call)
	if !ok {
		return nil
	}
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Pkg == nil || fn.Pkg.Pkg.Path() != "context" {
		return nil
	}
	return call
}

// cancelField is the field in which the package keeps what cancels the context in another field, "" if it is not always
// the same.
func cancelField(r *check.Reporter, of string) string {
	makers, cancels := map[*ssa.Call]bool{}, map[*ssa.Call]string{}
	known := true
	for _, fn := range r.Index.Shipped {
		eachFieldSet(fn, func(name string, st *ssa.Store) {
			ex, ok := setTo(ssax.ThroughConversions(st.Val)).(*ssa.Extract)
			var maker *ssa.Call
			if ok {
				maker = makerOf(ex)
			}
			switch {
			case name == of && (maker == nil || ex.Index != 0):
				known = false
			case name == of:
				makers[maker] = true
			case maker != nil && ex.Index == 1:
				cancels[maker] = name
			}
		})
	}
	found := ""
	for maker := range makers {
		if cancels[maker] == "" || found != "" && found != cancels[maker] {
			return ""
		}
		found = cancels[maker]
	}
	if !known {
		return ""
	}
	return found
}

// setTo is a value, that of a variable which is set several times as it is then.
func setTo(v ssa.Value) ssa.Value {
	v = ssax.SoleValue(v)
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return v
	}
	if cell, ok := ssax.CellOf(load.X).(*ssa.Alloc); ok {
		if stored, ok := ssax.StoredBefore(cell, load); ok {
			return stored
		}
	}
	return v
}

// setIn reports whether a function sets a field.
func setIn(fn *ssa.Function, name string) (found bool) {
	eachFieldSet(ssax.Outermost(fn), func(field string, _ *ssa.Store) { found = found || field == name })
	return found
}

// eachFieldSet visits what a function and its literals set fields to.
func eachFieldSet(fn *ssa.Function, visit func(field string, st *ssa.Store)) {
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		if st, ok := instr.(*ssa.Store); ok {
			if field, ok := st.Addr.(*ssa.FieldAddr); ok {
				visit(ssax.FieldName(field.X.Type(), field.Field), st)
			}
		}
	})
}
