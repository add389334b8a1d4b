// Package answers finds out what a program does with the answer of an acquire: whether it looks at it, on which ways it
// goes on with and without the lock, and whether it compares the owner.
package answers

import (
	"go/constant"
	"go/token"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds out what a program does with the answer of an acquire: did it get the lock or not.

// An attention says how much of the answer a program looks at.
type attention uint8

const (
	Attentive   attention = iota // the outcome is used, or goes where it may be
	OnlyError                    // the error is looked at, the outcome is not
	inattentive                  // nothing is looked at
)

// AttentionTo says what is done with the outcome of an acquire. It is attentive in case of doubt.
func AttentionTo(c *rediscmd.Command) attention {
	if c.Pipe != rediscmd.Direct {
		return Attentive // the outcome arrives with Exec
	}
	call, ok := c.Call.(*ssa.Call)
	if !ok {
		if c.Reply == rediscmd.ReplyUnknown {
			return Attentive
		}
		return inattentive // go and defer drop every result
	}
	switch c.Reply {
	case rediscmd.ReplyBoolCmd, rediscmd.ReplyMessage:
		return attentionToBoolCmd(call)
	case rediscmd.ReplyCmd:
		if ssax.Unused(call) {
			return inattentive
		}
	case rediscmd.ReplyValue:
		return attentionToResult(call, 0)
	case rediscmd.ReplyResult, rediscmd.ReplyError:
		if call.Call.Signature().Results().Len() == 1 {
			if ssax.Unused(call) {
				return inattentive
			}
			return Attentive
		}
		return attentionToResult(call, c.Result)
	}
	return Attentive
}

// ReachesNobody reports whether nothing that the program does depends on the outcome of an acquire.
func ReachesNobody(c *rediscmd.Command) bool {
	if c.Pipe == rediscmd.Direct {
		return AttentionTo(c) == inattentive
	}
	call, ok := c.Call.(*ssa.Call)
	if !ok || c.Via != "" {
		return false
	}
	if !ssax.Unused(call) && (c.Reply != rediscmd.ReplyBoolCmd || attentionToBoolCmd(call) == Attentive) {
		return false
	}
	return !slices.ContainsFunc(sendersIn(c.Fn), func(exec *ssa.Call) bool { return attentionToResult(exec, 0) == Attentive })
}

// SentIn reports whether the function that queues a command also sends what it has queued.
func SentIn(c *rediscmd.Command) bool { return len(sendersIn(c.Fn)) > 0 }

// sendersIn are the calls of a function that send what was queued, and return the answers.
func sendersIn(fn *ssa.Function) (calls []*ssa.Call) {
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		m, ok := ssax.MethodOf(call.Common())
		if ok && m.Recv != nil && call.Value() != nil && sendsPipe.MatchString(m.Obj.Name()) {
			calls = append(calls, call.Value())
		}
	})
	return calls
}

// sendsPipe matches the methods that send what was queued and return the answers.
var sendsPipe = regexp.MustCompile(`^(?:Exec|Pipelined|TxPipelined|Receive|Do|DoMulti)(?:Ctx|Context|ed|WithTimeout)?$`)

// attentionToResult looks at one of several results.
func attentionToResult(call *ssa.Call, index int) attention {
	seen := inattentive
	for _, instr := range *call.Referrers() {
		switch ex := instr.(type) {
		case *ssa.Extract:
			switch {
			case ssax.Unused(ex):
			case ex.Index == index || comparedWithNil(ex):
				return Attentive
			default:
				seen = OnlyError
			}
		case *ssa.DebugRef:
		default:
			return Attentive
		}
	}
	return seen
}

// comparedWithNil reports whether a result other than an error is compared with nil, as a function that releases is: it
// may be there only with the lock.
func comparedWithNil(v *ssa.Extract) bool {
	if ssax.IsError(v.Type()) {
		return false
	}
	for _, instr := range *v.Referrers() {
		if cmp, ok := instr.(*ssa.BinOp); ok && (ssax.IsNilConst(cmp.X) || ssax.IsNilConst(cmp.Y)) {
			return true
		}
	}
	return false
}

// attentionToBoolCmd looks at what is asked of go-redis's BoolCmd or Cmd, or of rueidis's RedisResult. Err is nil when
// the key exists, so asking for it alone is asking nothing. Err is a method of an embedded field, hence the second look
// at what takes a field's address.
func attentionToBoolCmd(cmd ssa.Value) attention {
	seen := inattentive
	for _, instr := range *cmd.Referrers() {
		at := Attentive
		switch instr := instr.(type) {
		case *ssa.DebugRef:
			at = inattentive
		case *ssa.FieldAddr:
			at = attentionToBoolCmd(instr)
		case ssa.CallInstruction:
			at = attentionOfMethod(instr, cmd)
		}
		if at == Attentive {
			return Attentive
		}
		seen = min(seen, at)
	}
	return seen
}

// attentionOfMethod looks at one method call on a BoolCmd.
func attentionOfMethod(call ssa.CallInstruction, cmd ssa.Value) attention {
	m, ok := ssax.MethodOf(call.Common())
	if !ok || m.Recv != cmd {
		return Attentive
	}
	result := call.Value() // nil for go and defer
	switch m.Obj.Name() {
	case "Err", "Error", "NonRedisError":
		return OnlyError
	case "Result", "Bool", "Int", "Int64", "AsBool", "AsInt64", "ToBool", "ToInt64":
		if result == nil {
			return inattentive
		}
		return attentionToResult(result, 0)
	case "Val":
		if result == nil || ssax.Unused(result) {
			return inattentive
		}
	}
	return Attentive
}

// OutcomeResult returns which result of a function is the outcome of one of its acquires, as in a method that wraps
// SetNX; -1 if none certainly is.
func OutcomeResult(fn *ssa.Function, c *rediscmd.Command) int {
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		for i, v := range ret.Results {
			if ssax.IsBool(v.Type()) && isOutcome(v, c, 0) {
				return i
			}
		}
	}
	for i := range fn.Signature.Results().Len() {
		if ssax.IsBool(fn.Signature.Results().At(i).Type()) && tellsOutcome(fn, c, i) {
			return i
		}
	}
	return -1
}

// tellsOutcome reports whether a result of a function is true on some way, and only where an acquire has succeeded. An
// error beside it may say the same, unless there is none where the acquire was refused.
func tellsOutcome(fn *ssa.Function, c *rediscmd.Command, result int) bool {
	if c.Call.Parent() != fn || fn.Signature.Results().Len() > 1 && !refusesSilently(fn, c, result) {
		return false
	}
	tests := TestsOf(c)
	got := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok {
			continue
		}
		switch success, only := succeeds(ret.Results[result], b, c, tests, 0); {
		case !only:
			return false
		case success:
			got = true
		}
	}
	return got
}

// refusesSilently reports whether a function returns false in one of its results and no error anywhere, for an acquire
// whose error says nothing either.
func refusesSilently(fn *ssa.Function, c *rediscmd.Command, result int) bool {
	if c.Reply != rediscmd.ReplyBoolCmd && c.Reply != rediscmd.ReplyResult {
		results := c.Call.Common().Signature().Results()
		if results.Len() == 0 || !ssax.IsBool(results.At(0).Type()) {
			return false
		}
	}
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover {
			continue
		}
		refused, isConst := ret.Results[result].(*ssa.Const)
		if isConst && refused.Value != nil && !constant.BoolVal(refused.Value) &&
			!slices.ContainsFunc(ret.Results, func(v ssa.Value) bool { return ssax.IsError(v.Type()) && !ssax.IsNilConst(v) }) {
			return true
		}
	}
	return false
}

// succeeds reports whether a bool can be true at the end of a block, and whether that is only so with the lock.
func succeeds(v ssa.Value, at *ssa.BasicBlock, c *rediscmd.Command, tests []outcomeTest, depth int) (can, only bool) {
	if depth > keyexpr.MaxDepth {
		return false, false
	}
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value != nil && constant.BoolVal(v.Value) {
			return true, slices.ContainsFunc(tests, func(t outcomeTest) bool {
				return len(t.taken().Preds) == 1 && t.taken().Dominates(at)
			})
		}
		return false, true
	case *ssa.Phi:
		for i, e := range v.Edges {
			success, fine := succeeds(e, v.Block().Preds[i], c, tests, depth+1)
			if !fine {
				return false, false
			}
			can = can || success
		}
		return can, true
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return false, false
		}
	}
	got, ok := SuccessBranch(v, c)
	return true, ok && got == 0
}

// isOutcome reports whether a value is the outcome of an acquire itself.
func isOutcome(v ssa.Value, c *rediscmd.Command, depth int) bool {
	switch v := v.(type) {
	case *ssa.Call:
		if c.Reply == rediscmd.ReplyResult && v == c.Call {
			return true
		}
		m, ok := ssax.MethodOf(&v.Call)
		return ok && m.Recv != nil && m.Recv == c.Call.Value() && m.Obj.Name() == "Val"
	case *ssa.Extract:
		call, ok := v.Tuple.(*ssa.Call)
		if !ok {
			return false
		}
		if c.Reply == rediscmd.ReplyResult && call == c.Call {
			return v.Index == c.Result
		}
		m, ok := ssax.MethodOf(&call.Call)
		return ok && v.Index == 0 && m.Recv != nil && m.Obj.Name() == "Result" && m.Recv == ssa.Value(c.Call.Value())
	case *ssa.UnOp:
		cell, ok := ssax.CellOf(v.X).(*ssa.Alloc)
		return ok && v.Op == token.MUL && depth <= ssax.MaxDepth && holdsOutcome(cell, c, depth)
	}
	return false
}

// holdsOutcome reports whether a variable holds the outcome of an acquire, or a constant where there has been none, as
// a named result does in a function with a defer statement.
func holdsOutcome(cell *ssa.Alloc, c *rediscmd.Command, depth int) bool {
	found := false
	ok := ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
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
