package locks

import (
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// OwnerCompared returns the GET whose value decides, compared with something, whether a DEL or EXPIRE runs; nil if
// there is none.
func (ix *Set) OwnerCompared(c *rediscmd.Command) *rediscmd.Command {
	for _, read := range ix.Commands[c.Fn] {
		if read.Op == ops.Read && read.Key.String() == c.Key.String() && answers.ComparedBefore(read, c.Call) {
			return read
		}
	}
	return nil
}

// LooksAgain reports whether a function reads the key after it has tried to set it: who compares knows whose it is.
func (ix *Set) LooksAgain(c *rediscmd.Command) bool {
	return slices.ContainsFunc(ix.Commands[c.Fn], func(read *rediscmd.Command) bool {
		return read.Op == ops.Read && read.Key.String() == c.Key.String() && read.Call != c.Call &&
			ssax.ComesAfter(c.Call, read.Call) && !answers.AsksIfPresent(read)
	})
}

// AlwaysSame reports whether a value is one constant: then a comparison with it tells nobody from anybody.
func (ix *Set) AlwaysSame(value keyexpr.Expr, fn *ssa.Function) bool {
	_, ok := ix.Constant(value, fn)
	return ok
}

// Constant is what a value of a function always is: a constant, a parameter that all callers give the same constant, or
// a field that is set to nothing else. Callers in other packages are not in sight, so a package without any caller
// but tests knows nothing.
func (ix *Set) Constant(value keyexpr.Expr, fn *ssa.Function) (text string, ok bool) {
	all := map[string]bool{}
	if !ix.constants(value, fn, all, 0) || len(all) != 1 {
		return "", false
	}
	for text = range all {
	}
	return text, true
}

// constants collects what a value can be; false if that is not known.
func (ix *Set) constants(value keyexpr.Expr, fn *ssa.Function, all map[string]bool, depth int) bool {
	switch {
	case value.Op == keyexpr.Lit:
		all[value.Text] = true
		return true
	case depth > 2:
		return false
	case value.Op == keyexpr.Param:
		return ix.handedOver(value, fn, all, depth)
	case value.Op == keyexpr.Field:
		return ix.storedInto(value.Text, all, depth)
	}
	return false
}

// constantsOf is constants for a value that may have a default, as in if token == "" { token = "1" }.
func (ix *Set) constantsOf(v ssa.Value, fn *ssa.Function, all map[string]bool, depth int) bool {
	phi, ok := v.(*ssa.Phi)
	if !ok {
		return ix.constants(keyexpr.Of(v), fn, all, depth)
	}
	some := map[string]bool{}
	for _, e := range phi.Edges {
		if !ix.constants(keyexpr.Of(e), fn, some, depth) {
			return false
		}
	}
	if len(some) > 1 {
		delete(some, "")
	}
	maps.Copy(all, some)
	return true
}

// handedOver collects what the callers of a function give it for a parameter.
func (ix *Set) handedOver(param keyexpr.Expr, fn *ssa.Function, all map[string]bool, depth int) bool {
	i, err := strconv.Atoi(param.Text)
	known, calls := err == nil, 0
	for _, caller := range ix.Shipped {
		if caller.Parent() != nil || !known {
			continue
		}
		ssax.EachCall(caller, func(call ssa.CallInstruction) {
			if obj, args := ix.CalleeOf(call.Common()); obj != nil && obj == fn.Object() && i < len(args) {
				calls++
				known = known && ix.constants(keyexpr.Of(args[i]), caller, all, depth+1)
			}
		})
	}
	return known && calls > 0
}

// storedInto collects what the package sets a field to, other than in tests. One that other packages can set is not known.
func (ix *Set) storedInto(field string, all map[string]bool, depth int) bool {
	if token.IsExported(field[strings.LastIndexByte(field, '.')+1:]) {
		return false
	}
	known, stores := true, 0
	for _, fn := range ix.Shipped {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				fa, ok := instr.(*ssa.FieldAddr)
				if !ok || ssax.FieldName(fa.X.Type(), fa.Field) != field {
					continue
				}
				for _, use := range *fa.Referrers() {
					switch use := use.(type) {
					case *ssa.Store:
						stores++
						known = known && use.Addr == ssa.Value(fa) &&
							ix.constantsOf(use.Val, ssax.Outermost(fn), all, depth+1)
					case *ssa.UnOp, *ssa.DebugRef:
					default:
						known = false
					}
				}
			}
		}
	}
	return known && stores > 0
}

// StoredIn is what the package stores in a field that is not exported, nil if others may set it.
func (ix *Set) StoredIn(field string) []keyexpr.Expr {
	if token.IsExported(field[strings.LastIndexByte(field, '.')+1:]) {
		return nil
	}
	var list []keyexpr.Expr
	for _, fn := range ix.Shipped {
		list = append(list, StoredBy(fn, field)...)
	}
	return list
}
