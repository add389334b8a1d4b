package lockcheck

import (
	"go/constant"
	"strconv"
	"time"

	"golang.org/x/tools/go/ssa"
)

// bareNumber bounds the constants that are numbers of something rather than times: no time in use is that short.
const bareNumber = int64(10 * time.Microsecond)

// isTime reports whether a value of type Duration is a time, rather than a number on its way to be multiplied by a
// unit. Fields are mostly filled from a configuration in which a number stands, so they are not known to be times.
func (ix *index) isTime(v ssa.Value, fn *ssa.Function) bool {
	if !isDuration(v.Type()) {
		return false
	}
	switch v := v.(type) {
	case *ssa.Const:
		return v.Value != nil && !isBare(v)
	case *ssa.Parameter:
		return !ix.takesBareNumbers(fn, keyOf(v))
	case *ssa.Call:
		return true
	case *ssa.BinOp:
		return v.Op.String() == opMul && (ix.isTime(v.X, fn) || ix.isTime(v.Y, fn))
	case *ssa.UnOp:
		switch addr := cellOf(v.X).(type) {
		case *ssa.Alloc:
			stored, ok := onlyStore(addr)
			return ok && ix.isTime(stored, fn)
		case *ssa.Global:
			init := globalInit(addr)
			c, ok := init.(*ssa.Const)
			return ok && c.Value != nil && !isBare(c) && !ix.assigned(addr)
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
func (ix *index) takesBareNumbers(fn *ssa.Function, param keyExpr) bool {
	i, err := strconv.Atoi(param.Text)
	if err != nil || param.Op != keyParam {
		return false
	}
	found := false
	for _, caller := range ix.funcs {
		if caller.Parent() != nil {
			continue
		}
		eachCall(caller, func(call ssa.CallInstruction) {
			obj, args := ix.calleeOf(call.Common())
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
