package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some types of a program keep many locks, each under the key that their methods are given:
//
//	func (l *Locker) Lock(ctx context.Context, key string) error   { …; l.held[key] = lock; return nil }
//	func (l *Locker) Unlock(ctx context.Context, key string) error { return l.held[key].Release(ctx) }
//
// Their methods have verbs as those of a type with one lock have. What is done with one key says nothing of another.

// fieldOf names the field of the receiver that a lock is read from, be it the lock itself or a map of locks.
func fieldOf(v ssa.Value) string {
	if name := receiverField(v); name != "" {
		return name
	}
	return entryOf(v)
}

// entryOf names the field of the receiver that holds the map from which a lock is read, "" if there is none.
func entryOf(v ssa.Value) string {
	switch v := ssax.SoleValue(v).(type) {
	case *ssa.Extract:
		switch of := v.Tuple.(type) {
		case *ssa.Lookup:
			return receiverField(of.X)
		case *ssa.TypeAssert:
			return loadedFrom(of.X)
		}
	case *ssa.Lookup:
		return receiverField(v.X)
	case *ssa.TypeAssert:
		return loadedFrom(v.X)
	}
	return ""
}

// loadedFrom names the field that is a sync.Map from which a value is read.
func loadedFrom(v ssa.Value) string {
	ex, ok := ssax.SoleValue(v).(*ssa.Extract)
	if !ok || ex.Index != 0 {
		return ""
	}
	call, ok := ex.Tuple.(*ssa.Call)
	if !ok {
		return ""
	}
	return syncMap(&call.Call, "Load", "LoadAndDelete")
}

// syncMap names the field of the receiver that is a sync.Map, where a call is that of a method of it.
func syncMap(c *ssa.CallCommon, names ...string) string {
	fn := c.StaticCallee()
	if fn == nil || fn.Object() == nil || len(c.Args) == 0 {
		return ""
	}
	for _, name := range names {
		if ssax.CalleeName(fn) != "(*sync.Map)."+name {
			continue
		}
		switch at := c.Args[0].(type) {
		case *ssa.FieldAddr:
			if base := keyexpr.Of(at.X); base.Op == keyexpr.Param && base.Text == "0" {
				return ssax.FieldName(at.X.Type(), at.Field)
			}
		default:
			return receiverField(at)
		}
	}
	return ""
}

// enteredIn names the field of the receiver that holds the map into which an instruction puts a value.
func enteredIn(instr ssa.Instruction, v ssa.Value) string {
	switch instr := instr.(type) {
	case *ssa.MapUpdate:
		if instr.Value == v {
			return receiverField(instr.Map)
		}
	case *ssa.MakeInterface:
		for _, use := range *instr.Referrers() {
			if call, ok := use.(*ssa.Call); ok && len(call.Call.Args) == 3 && call.Call.Args[2] == instr {
				return syncMap(&call.Call, "Store")
			}
		}
	}
	return ""
}

// isRegistry reports whether a field of the receiver is a map of locks.
func isRegistry(fn *ssa.Function, field string) bool {
	st, ok := ssax.Elem(fn.Params[0].Type()).Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for i := range st.NumFields() {
		if ssax.FieldName(fn.Params[0].Type(), i) != field {
			continue
		}
		if _, ok := st.Field(i).Type().Underlying().(*types.Map); ok {
			return true
		}
		return ssax.FullTypeName(st.Field(i).Type()) == "sync.Map"
	}
	return false
}

// otherKey reports whether a call speaks of another lock than the site, of those that one object keeps.
func (f *follower) otherKey(call ssa.CallInstruction) bool {
	if f.site == nil || !f.site.Keyed {
		return false
	}
	mine, other := keyArg(&f.site.Call.Call), keyArg(call.Common())
	return mine.Known() && other.Known() && mine.String() != other.String()
}

// keyArg is the first text that a method is given.
func keyArg(c *ssa.CallCommon) keyexpr.Expr {
	m, ok := ssax.MethodOf(c)
	if !ok {
		return keyexpr.Expr{}
	}
	for _, a := range m.Args {
		if ssax.IsString(a.Type()) {
			return keyexpr.Of(a)
		}
	}
	return keyexpr.Expr{}
}
