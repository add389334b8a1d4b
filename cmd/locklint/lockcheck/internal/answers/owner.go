package answers

import (
	"go/constant"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// AsksIfPresent reports whether nothing but the error of a GET is looked at: that says whether there is an owner, not
// who it is.
func AsksIfPresent(read *rediscmd.Command) bool {
	call, ok := read.Call.(*ssa.Call)
	return ok && read.Via == "" && attentionToBoolCmd(call) == OnlyError
}

// ComparedBefore reports whether a call runs only after a comparison with what was read.
func ComparedBefore(read *rediscmd.Command, call ssa.CallInstruction) bool {
	for at := ssa.Instruction(call); at != nil; at = ssax.UserOf(at.Parent()) {
		for b := at.Block(); b != nil; b = b.Idom() {
			d := b.Idom()
			if d == nil {
				break
			}
			if cond, ok := d.Instrs[len(d.Instrs)-1].(*ssa.If); ok && (comparesValue(cond.Cond, read) ||
				read.Via != "" && read.Compares && isAnswer(cond.Cond, read.Call.Value())) {
				return true
			}
		}
	}
	return false
}

// OwnBranch returns which successor of a branch is taken where what was read is what it is compared with, 0 or 1, and the
// other where it is not, or where there is nothing to read.
func OwnBranch(cond ssa.Value, read *rediscmd.Command) (int, bool) {
	switch v := cond.(type) {
	case *ssa.UnOp:
		own, ok := OwnBranch(v.X, read)
		return 1 - own, ok && v.Op == token.NOT
	case *ssa.BinOp:
		switch about := comparesValue(v, read) || isNothingRead(v.X, v.Y, read); {
		case about && v.Op == token.EQL && ssax.IsError(v.X.Type()), about && v.Op == token.NEQ && !ssax.IsError(v.X.Type()):
			return 1, true
		case about && (v.Op == token.EQL || v.Op == token.NEQ):
			return 0, true
		}
	case *ssa.Call:
		fn := v.Call.StaticCallee()
		return 1, fn != nil && ssax.CalleeName(fn) == "errors.Is" && isNothingRead(v.Call.Args[0], v.Call.Args[1], read)
	}
	return 0, false
}

// isNothingRead reports whether an error of a read is compared with that of a key which is not there.
func isNothingRead(err, with ssa.Value, read *rediscmd.Command) bool {
	made, ok := with.(*ssa.MakeInterface)
	if !ok || !ssax.IsError(err.Type()) {
		return false
	}
	value, ok := ssax.ConstOf(made.X)
	return ok && value.Kind() == constant.String && constant.StringVal(value) == "redis: nil" && DependsOn(err, read)
}

// Compares reports whether a function compares what it reads with something: in a branch, or in what it returns.
func Compares(fn *ssa.Function, read *rediscmd.Command) bool {
	for _, b := range fn.Blocks {
		switch last := b.Instrs[len(b.Instrs)-1].(type) {
		case *ssa.If:
			if comparesValue(last.Cond, read) {
				return true
			}
		case *ssa.Return:
			for _, v := range last.Results {
				if ssax.IsBool(v.Type()) && comparesValue(v, read) {
					return true
				}
			}
		}
	}
	return false
}

// isAnswer reports whether a condition asks what a call has answered: its bool, or its error.
func isAnswer(v ssa.Value, call *ssa.Call) bool {
	return call != nil && ssax.AnyPart(v, keyexpr.MaxDepth, func(v ssa.Value) (bool, []ssa.Value) {
		switch v := v.(type) {
		case *ssa.Call:
			return v == call, nil
		case *ssa.Extract:
			return v.Tuple == ssa.Value(call), nil
		case *ssa.UnOp, *ssa.BinOp, *ssa.Phi:
			return false, ssax.Operands(v)
		}
		return false, nil
	})
}

// comparesValue reports whether a condition compares what was read with something else, rather than asking whether
// there was anything to read.
func comparesValue(v ssa.Value, read *rediscmd.Command) bool {
	return ssax.AnyPart(v, keyexpr.MaxDepth, func(v ssa.Value) (bool, []ssa.Value) {
		switch v := v.(type) {
		case *ssa.UnOp, *ssa.Phi:
			return false, ssax.Operands(v)
		case *ssa.BinOp:
			return !ssax.IsError(v.X.Type()) && !ssax.IsNilConst(v.X) && !ssax.IsNilConst(v.Y) && !ssax.IsEmpty(v.X) &&
				!ssax.IsEmpty(v.Y) && (DependsOn(v.X, read) || DependsOn(v.Y, read)), nil
		case *ssa.Call:
			if read.Via != "" && v == read.Call.Value() {
				return read.Compares, nil
			}
			return len(v.Call.Args) > 1 && !slices.ContainsFunc(v.Call.Args, isErrorArg) && DependsOn(v, read), nil
		}
		return false, nil
	})
}

func isErrorArg(v ssa.Value) bool { return ssax.IsError(v.Type()) }
