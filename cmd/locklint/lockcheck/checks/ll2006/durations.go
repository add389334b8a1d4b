package ll2006

import (
	"go/constant"
	"strconv"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// bareNumber bounds the constants that are numbers of something rather than times: no time in use is that short.
const bareNumber = int64(10 * time.Microsecond)

// isTime reports whether a value of type Duration is a time, rather than a number on its way to be multiplied by a
// unit. Fields are mostly filled from a configuration in which a number stands, so they are not known to be times.
func isTime(ix *index.Index, v ssa.Value, fn *ssa.Function) bool {
	if !ssax.IsDuration(v.Type()) {
		return false
	}
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value != nil && !isBare(v)
	case *ssa.Parameter:
		return !takesBareNumbers(ix, fn, keyexpr.Of(v))
	case *ssa.Call:
		return true
	case *ssa.BinOp:
		return v.Op.String() == keyexpr.Mul && (isTime(ix, v.X, fn) || isTime(ix, v.Y, fn))
	case *ssa.UnOp:
		switch addr := ssax.CellOf(v.X).(type) {
		case *ssa.Alloc:
			stored, ok := ssax.OnlyStore(addr)
			return ok && isTime(ix, stored, fn)
		case *ssa.Global:
			init := ssax.GlobalInit(addr)
			c, ok := init.(*ssa.Const)
			return ok && c.Value != nil && !isBare(c) && !ix.Assigned(addr)
		}
	}
	return false
}

func isBare(c *ssa.Const) bool {
	n, exact := constant.Int64Val(c.Value)
	return exact && -bareNumber < n && n < bareNumber
}

// takesBareNumbers reports whether some caller in this package passes a number where a parameter says Duration: then
// the function's own unit is meant to be applied to it.
func takesBareNumbers(ix *index.Index, fn *ssa.Function, param keyexpr.Expr) bool {
	i, err := strconv.Atoi(param.Text)
	if err != nil || param.Op != keyexpr.Param {
		return false
	}
	found := false
	for _, caller := range ix.Funcs {
		if caller.Parent() != nil {
			continue
		}
		ssax.EachCall(caller, func(call ssa.CallInstruction) {
			obj, args := ix.CalleeOf(call.Common())
			if obj == nil || obj != fn.Object() || i >= len(args) {
				return
			}
			if c, ok := args[i].(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.Int && isBare(c) {
				found = true
			}
		})
	}
	return found
}
