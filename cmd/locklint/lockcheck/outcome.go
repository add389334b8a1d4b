package lockcheck

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// This file finds out what a program does with the answer of an acquire: did it get the lock or not.

// An attention says how much of the answer a program looks at.
type attention uint8

const (
	attentive   attention = iota // the outcome is used, or goes where it may be
	onlyError                    // the error is looked at, the outcome is not
	inattentive                  // nothing is looked at
)

// attentionTo says what is done with the outcome of an acquire. It is attentive in case of doubt.
func attentionTo(c *command) attention {
	if c.pipe != direct {
		return attentive // the outcome arrives with Exec
	}
	call, ok := c.call.(*ssa.Call)
	if !ok {
		if c.reply == replyUnknown {
			return attentive
		}
		return inattentive // go and defer drop every result
	}
	switch c.reply {
	case replyBoolCmd, replyMessage:
		return attentionToBoolCmd(call)
	case replyCmd:
		if unused(call) {
			return inattentive
		}
	case replyValue:
		return attentionToResult(call, 0)
	case replyResult:
		if call.Call.Signature().Results().Len() == 1 {
			if unused(call) {
				return inattentive
			}
			return attentive
		}
		return attentionToResult(call, c.result)
	}
	return attentive
}

// attentionToResult looks at one of several results.
func attentionToResult(call *ssa.Call, index int) attention {
	seen := inattentive
	for _, instr := range *call.Referrers() {
		switch ex := instr.(type) {
		case *ssa.Extract:
			switch {
			case unused(ex):
			case ex.Index == index:
				return attentive
			default:
				seen = onlyError
			}
		case *ssa.DebugRef:
		default:
			return attentive
		}
	}
	return seen
}

// attentionToBoolCmd looks at what is asked of go-redis's BoolCmd or Cmd, or of rueidis's RedisResult. Err is nil when
// the key exists, so asking for it alone is asking nothing. Err is a method of an embedded field, hence the second look
// at what takes a field's address.
func attentionToBoolCmd(cmd ssa.Value) attention {
	seen := inattentive
	for _, instr := range *cmd.Referrers() {
		at := attentive
		switch instr := instr.(type) {
		case *ssa.DebugRef:
			at = inattentive
		case *ssa.FieldAddr:
			at = attentionToBoolCmd(instr)
		case ssa.CallInstruction:
			at = attentionOfMethod(instr, cmd)
		}
		if at == attentive {
			return attentive
		}
		seen = min(seen, at)
	}
	return seen
}

// attentionOfMethod looks at one method call on a BoolCmd.
func attentionOfMethod(call ssa.CallInstruction, cmd ssa.Value) attention {
	m, ok := methodOf(call.Common())
	if !ok || m.recv != cmd {
		return attentive
	}
	result := call.Value() // nil for go and defer
	switch m.obj.Name() {
	case "Err", "Error", "NonRedisError":
		return onlyError
	case "Result", "Bool", "Int", "Int64", "AsBool", "AsInt64", "ToBool", "ToInt64":
		if result == nil {
			return inattentive
		}
		return attentionToResult(result, 0)
	case "Val":
		if result == nil || unused(result) {
			return inattentive
		}
	}
	return attentive
}

// unused reports whether nothing refers to a value.
func unused(v ssa.Value) bool {
	for _, instr := range *v.Referrers() {
		if _, debug := instr.(*ssa.DebugRef); !debug {
			return false
		}
	}
	return true
}

// outcomeResult returns which result of a function is the outcome of one of its acquires, as in a method that wraps
// SetNX; -1 if none certainly is.
func outcomeResult(fn *ssa.Function, c *command) int {
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, v := range ret.Results {
			if isBool(v.Type()) && isOutcome(v, c, 0) {
				return i
			}
		}
	}
	return -1
}

// isOutcome reports whether a value is the outcome of an acquire itself.
func isOutcome(v ssa.Value, c *command, depth int) bool {
	switch v := v.(type) {
	case *ssa.Call:
		if c.reply == replyResult && v == c.call {
			return true
		}
		m, ok := methodOf(&v.Call)
		return ok && m.recv != nil && m.recv == c.call.Value() && m.obj.Name() == "Val"
	case *ssa.Extract:
		call, ok := v.Tuple.(*ssa.Call)
		if !ok {
			return false
		}
		if c.reply == replyResult && call == c.call {
			return v.Index == c.result
		}
		m, ok := methodOf(&call.Call)
		return ok && v.Index == 0 && m.recv != nil && m.obj.Name() == "Result" && m.recv == ssa.Value(c.call.Value())
	case *ssa.UnOp:
		cell, ok := cellOf(v.X).(*ssa.Alloc)
		return ok && v.Op == token.MUL && depth <= maxDepth && holdsOutcome(cell, c, depth)
	}
	return false
}

// holdsOutcome reports whether a variable holds the outcome of an acquire, or a constant where there has been none, as
// a named result does in a function with a defer statement.
func holdsOutcome(cell *ssa.Alloc, c *command, depth int) bool {
	found := false
	ok := eachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			if load, ok := instr.Val.(*ssa.UnOp); ok && load.X == addr {
				return true // return ok, err
			}
			_, isConst := instr.Val.(*ssa.Const)
			outcome := isOutcome(instr.Val, c, depth+1)
			found = found || outcome
			return instr.Addr == addr && (isConst || outcome)
		case *ssa.UnOp, *ssa.DebugRef:
			return true
		}
		return false
	})
	return ok && found
}
