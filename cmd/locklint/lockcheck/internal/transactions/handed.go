package transactions

import (
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A transaction that a function is given is open, whoever has begun it and whoever commits it: a lock that is taken in
// there comes too late. This file finds such parameters, and is silent where the caller may have none or the function
// may have ended it.

var (
	// txTypeName marks types that are transactions and nothing else. gorm's DB and xorm's Session, which have Commit and
	// Rollback too, are one only where the parameter says so.
	txTypeName  = regexp.MustCompile(`(?i)(tx|transaction)$`)
	txParamName = regexp.MustCompile(`(?i)^(tx|trx|txn|transaction)$`)
	// finishName marks functions that may end a transaction which they are given.
	finishName = regexp.MustCompile(`(?i)commit|rollback|finish|finali|complete|close|end|done`)
)

// handedTx is the parameter by which the function of a call, or one around it, is given a transaction that is open when
// the call runs; nil if there is none.
func handedTx(at ssa.CallInstruction) *ssa.Parameter {
	for at != nil {
		fn := at.Parent()
		for _, p := range fn.Params {
			if handlesLocks(p.Type()) {
				return nil // a lock is held already, and may enclose the transaction
			}
		}
		if p := TxParam(fn); p != nil {
			if MayBeNil(p) || mayBeOver(p, at) {
				return nil
			}
			return p
		}
		if at, _ = ssax.UserOf(fn).(ssa.CallInstruction); at != nil && runsElsewhere(at) {
			return nil
		}
	}
	return nil
}

// handlesLocks reports whether a parameter of a type says that the caller holds a lock.
func handlesLocks(t types.Type) bool {
	return handles.Is(t) || clients.Named(t, clients.Runtime) == "Fence"
}

// TxParam is the parameter of a function that is a transaction. A receiver is none: its methods may begin it.
func TxParam(fn *ssa.Function) *ssa.Parameter {
	params := fn.Params
	if fn.Signature.Recv() != nil {
		params = params[1:]
	}
	for _, p := range params {
		if !IsTx(p.Type()) {
			continue
		}
		name := types.TypeString(p.Type(), func(*types.Package) string { return "" })
		if txTypeName.MatchString(strings.TrimPrefix(name, "*")) || txParamName.MatchString(p.Name()) {
			return p
		}
	}
	return nil
}

// MayBeNil reports whether anybody asks if there is a transaction at all.
func MayBeNil(tx *ssa.Parameter) bool {
	asked := false
	ssax.EachInstr(tx.Parent(), func(instr ssa.Instruction) {
		b, ok := instr.(*ssa.BinOp)
		asked = asked || ok && ssax.IsNilConst(b.Y) && ssax.SoleValue(b.X) == ssa.Value(tx)
	})
	return asked
}

// mayBeOver reports whether a transaction may be over when a call runs.
func mayBeOver(tx *ssa.Parameter, at ssa.CallInstruction) bool {
	over := false
	ssax.EachCall(tx.Parent(), func(call ssa.CallInstruction) {
		_, now := call.(*ssa.Call)
		over = over || now && finishes(call.Common(), tx) && ssax.ComesAfter(call, at)
	})
	return over
}

// finishes reports whether a call may end a transaction.
func finishes(c *ssa.CallCommon, tx *ssa.Parameter) bool {
	if ended, _ := ends(c); ended == ssa.Value(tx) {
		return true
	}
	m, ok := ssax.MethodOf(c)
	if !ok || !finishName.MatchString(m.Obj.Name()) {
		return false
	}
	for _, a := range c.Args {
		if txOf(a) == ssa.Value(tx) {
			return true
		}
	}
	return false
}

// runsElsewhere reports whether a call starts a literal, or hands it to somebody who may run it when the transaction is
// over.
func runsElsewhere(call ssa.CallInstruction) bool {
	_, started := call.(*ssa.Go)
	_, handedOn := ssax.MethodOf(call.Common())
	return started || handedOn
}
