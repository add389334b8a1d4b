package rediscmd

import "golang.org/x/tools/go/ssa"

// ForgetsToken reports whether the function of an acquire makes the value that it sets and does nothing else with it:
// then nobody can compare it later.
func (c *Command) ForgetsToken() bool {
	return c.Token != nil && c.Via == "" && isFresh(c.Token) && onlySent(c.Token)
}

// isFresh reports whether a value is made by calls out of nothing that the program has elsewhere.
func isFresh(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return isFresh(v.X)
	case *ssa.Extract:
		return isFresh(v.Tuple)
	case *ssa.Call:
		for _, arg := range v.Call.Args {
			if _, isConst := arg.(*ssa.Const); !isConst && !isFresh(arg) {
				return false
			}
		}
		return !v.Call.IsInvoke()
	}
	return false
}

// onlySent reports whether a value goes nowhere but into the arguments of one call, nor does what it was made from.
func onlySent(v ssa.Value) bool {
	uses := 0
	for _, instr := range *v.Referrers() {
		switch instr := instr.(type) {
		case *ssa.DebugRef:
			continue
		case *ssa.Store: // into the list of a call with any number of arguments
			if _, ok := instr.Addr.(*ssa.IndexAddr); !ok {
				return false
			}
		case *ssa.MakeInterface, *ssa.Call:
		case *ssa.Extract:
			continue // the error beside it
		default:
			return false
		}
		uses++
	}
	if uses > 1 {
		return false
	}
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return onlySent(v.X)
	case *ssa.Extract:
		return onlySent(v.Tuple)
	case *ssa.Call: // id.String()
		for _, arg := range v.Call.Args {
			if isFresh(arg) && !onlySent(arg) {
				return false
			}
		}
	}
	return true
}
