package ssax

import (
	"go/constant"
	"time"

	"golang.org/x/tools/go/ssa"
)

// ConstString returns the text of a string constant.
func ConstString(v ssa.Value) (string, bool) {
	switch w := v.(type) {
	case *ssa.MakeInterface:
		v = w.X
	case *ssa.ChangeType:
		v = w.X
	}
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(c.Value), true
}

// IsEmpty reports whether a value is the empty string or zero.
func IsEmpty(v ssa.Value) bool {
	c, ok := ConstOf(v)
	return ok && (c.ExactString() == `""` || c.ExactString() == "0")
}

// IntOf is the value of a constant, -1 if it is none.
func IntOf(v ssa.Value) int {
	c, ok := ConstOf(v)
	if !ok || c.Kind() != constant.Int {
		return -1
	}
	n, _ := constant.Int64Val(c)
	return int(n)
}

// ConstOf returns the value of a constant.
func ConstOf(v ssa.Value) (constant.Value, bool) {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil {
		return nil, false
	}
	return c.Value, true
}

// IsNilConst reports whether a value is nil, or the zero value of its type.
func IsNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}

// ConstDuration is a value that is a constant number.
func ConstDuration(v ssa.Value) (time.Duration, bool) {
	if v == nil {
		return 0, false
	}
	c, ok := SoleValue(v).(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	n, exact := constant.Int64Val(c.Value)
	return time.Duration(n), exact
}
