package lockcheck

import (
	"go/constant"
	"go/types"
	"math/big"
	"time"

	"golang.org/x/tools/go/ssa"
)

// This file works out how long a time to live is, where that can be known. Times are key expressions like keys, so
// that they pass through wrappers in the same way; arithmetic is a call of an operator.

// The calls in an expression that stand for arithmetic.
const (
	opAdd = "+"
	opMul = "*"
	opQuo = "/"
	opRaw = "ns" // a Duration taken for a plain number: nanoseconds
)

// ttlOf describes a time that is given to a command in some unit. A Duration that is handed over as a plain number is
// marked, because it is a number of nanoseconds.
func ttlOf(v ssa.Value, unit time.Duration) keyExpr {
	k := keyOf(v)
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	if unit > 1 && isDuration(v.Type()) {
		return keyExpr{Op: keyCall, Text: opRaw, Args: []keyExpr{k}}
	}
	return k
}

// isDuration reports whether t is time.Duration.
func isDuration(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Duration" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time"
}

// number evaluates an expression that is made of constants.
func (k keyExpr) number() (*big.Rat, bool) {
	if k.Op == keyLit {
		return new(big.Rat).SetString(k.Text)
	}
	if k.Op != keyCall || len(k.Args) == 0 {
		return nil, false
	}
	x, ok := k.Args[0].number()
	if !ok {
		return nil, false
	}
	switch k.Text {
	case opRaw, "(time.Duration).Nanoseconds":
		return x, true
	case "(time.Duration).Microseconds":
		return x.Quo(x, big.NewRat(int64(time.Microsecond), 1)), true
	case "(time.Duration).Milliseconds":
		return x.Quo(x, big.NewRat(int64(time.Millisecond), 1)), true
	case "(time.Duration).Seconds":
		return x.Quo(x, big.NewRat(int64(time.Second), 1)), true
	case opMul, opQuo:
		y, ok := k.Args[1].number()
		if !ok {
			return nil, false
		}
		if k.Text == opMul {
			return x.Mul(x, y), true
		}
		if y.Sign() != 0 {
			return x.Quo(x, y), true
		}
	}
	return nil, false
}

// lasts is how long a command's time to live is, in nanoseconds; ok is false if nobody can tell.
func (c *command) lasts() (ns float64, ok bool) {
	n, ok := c.ttl.number()
	if !ok || c.unit == 0 {
		return 0, false
	}
	ns, _ = n.Mul(n, big.NewRat(int64(c.unit), 1)).Float64()
	return ns, true
}

// constOf returns the value of a constant.
func constOf(v ssa.Value) (constant.Value, bool) {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil {
		return nil, false
	}
	return c.Value, true
}
