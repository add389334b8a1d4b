// Package transactions finds out where database transactions are open, and reports locks that do not enclose them.
package transactions

import (
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds out where database transactions are open. A transaction is known by its shape, not by its library: a
// type with methods Commit and Rollback that a method Begin… returns (database/sql, sqlx, pgx, gorm, ent, bun), or on
// which Begin is called (xorm), or that a literal is given by a method such as Transaction.

var (
	beginName  = regexp.MustCompile(`^(Must)?Begin|^Tx$|^BeginTx`)
	inTxMethod = regexp.MustCompile(`^(Transaction|RunInTx|RunInTransaction|WithTx|WithTransaction|InTx|` +
		`InTransaction|ExecTx|Transact|Transactional|BeginFunc|BeginTxFunc)$`)
)

// IsTx reports whether a type is a transaction.
func IsTx(t types.Type) bool {
	has := func(name string) bool {
		obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		_, ok := obj.(*types.Func)
		return ok
	}
	if _, ok := t.Underlying().(*types.Basic); ok {
		return false
	}
	return has("Commit") && has("Rollback")
}

// begun returns the value that stands for the transaction which a call begins, nil if it begins none: the call itself,
// or the session that it is made on.
func begun(call *ssa.Call) ssa.Value {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok || !beginName.MatchString(m.Obj.Name()) {
		return nil
	}
	results := m.Obj.Signature().Results()
	switch {
	case results.Len() > 0 && IsTx(results.At(0).Type()):
		return call
	case m.Recv != nil && results.Len() == 1 && ssax.IsError(results.At(0).Type()) && IsTx(m.Recv.Type()):
		return ssax.SoleValue(m.Recv)
	}
	return nil
}

// txOf is the value that stands for the transaction which another value is.
func txOf(v ssa.Value) ssa.Value {
	v = ssax.SoleValue(v)
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = ssax.SoleValue(mi.X)
	}
	if ex, ok := v.(*ssa.Extract); ok {
		return ex.Tuple
	}
	return v
}

// ends returns the transaction that a call commits or rolls back, nil if it does neither.
func ends(c *ssa.CallCommon) (tx ssa.Value, commit bool) {
	m, ok := ssax.MethodOf(c)
	if !ok || m.Recv == nil || !IsTx(m.Recv.Type()) {
		return nil, false
	}
	switch name := m.Obj.Name(); {
	case name == "Commit" || name == "Rollback":
		return txOf(m.Recv), name == "Commit"
	case len(m.Args) == 0 && endName.MatchString(name) && onlyFails(m.Obj.Signature().Results()):
		return txOf(m.Recv), strings.HasSuffix(name, "Commit")
	}
	return nil, false
}

// endName finds methods that a program has added to a transaction of its own, such as SafeCommit.
var endName = regexp.MustCompile(`^(Safe|Must|Try|Do)(Commit|Rollback)$`)

// onlyFails reports whether a method returns nothing but an error.
func onlyFails(results *types.Tuple) bool {
	return results.Len() == 0 || results.Len() == 1 && ssax.IsError(results.At(0).Type())
}

// EndOf is the name of the method by which a call ends a transaction, "" if it does not, or another one.
func EndOf(c *ssa.CallCommon, tx ssa.Value) string {
	if ended, commit := ends(c); ended == nil || ended != txOf(tx) {
		return ""
	} else if commit {
		return "Commit"
	}
	return "Rollback"
}

// A txFlow says which transactions are certainly open at the start of each block of a function.
type txFlow struct {
	fn      *ssa.Function
	open    map[*ssa.BasicBlock]map[ssa.Value]bool
	commits []ssa.CallInstruction // calls, and defer statements, that commit
}

// FollowTx follows the transactions of a function, nil if it begins none. Where paths meet, open is what is open on all
// of them.
func FollowTx(fn *ssa.Function) *txFlow {
	flow := &txFlow{fn: fn, open: map[*ssa.BasicBlock]map[ssa.Value]bool{}}
	begins := false
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if c, ok := call.(*ssa.Call); ok && begun(c) != nil {
				begins = true
			}
			if commitsIn(call) {
				flow.commits = append(flow.commits, call)
			}
		}
	}
	if !begins || len(flow.commits) == 0 {
		return nil
	}
	flow.open[fn.Blocks[0]] = map[ssa.Value]bool{}
	for queue := []*ssa.BasicBlock{fn.Blocks[0]}; len(queue) > 0; {
		b := queue[0]
		queue = queue[1:]
		out := flow.openAt(b, len(b.Instrs))
		for _, s := range b.Succs {
			old, seen := flow.open[s]
			now := out
			if seen {
				now = maps.Clone(old)
				maps.DeleteFunc(now, func(tx ssa.Value, _ bool) bool { return !out[tx] })
			}
			if !seen || len(now) != len(old) {
				flow.open[s] = now
				queue = append(queue, s)
			}
		}
	}
	return flow
}

// commitsIn reports whether a call commits a transaction, itself or in the literal that it calls or defers.
func commitsIn(call ssa.CallInstruction) bool {
	if _, commit := ends(call.Common()); commit {
		return true
	}
	found := false
	if lit := ssax.Literal(call.Common()); lit != nil {
		ssax.EachCall(lit, func(inner ssa.CallInstruction) {
			_, commit := ends(inner.Common())
			found = found || commit
		})
	}
	return found
}

// openAt are the transactions that are open before an instruction of a block.
func (flow *txFlow) openAt(b *ssa.BasicBlock, index int) map[ssa.Value]bool {
	open := maps.Clone(flow.open[b])
	if open == nil {
		return nil
	}
	for _, instr := range b.Instrs[:index] {
		call, ok := instr.(*ssa.Call)
		if !ok {
			continue
		}
		if tx := begun(call); tx != nil {
			open[tx] = true
		}
		if tx, _ := ends(&call.Call); tx != nil {
			delete(open, tx)
		}
	}
	return open
}

// CommitOf returns the commit, deferred or not, that a transaction which is open at a call still has before it; nil if
// there is none.
func (flow *txFlow) CommitOf(call ssa.CallInstruction) (begin ssa.Value, commit ssa.CallInstruction) {
	open := flow.openAt(call.Block(), ssax.IndexIn(call.Block(), call))
	for _, c := range flow.commits {
		_, deferred := c.(*ssa.Defer)
		if !deferred && !ssax.ComesAfter(call, c) {
			continue
		}
		if tx, _ := ends(c.Common()); tx != nil && open[tx] {
			return tx, c
		}
		if ssax.Literal(c.Common()) != nil {
			for tx := range open {
				return tx, c
			}
		}
	}
	return nil, nil
}

// deferredBefore returns the deferred commit that runs after a deferred call, because it was deferred earlier; nil if
// there is none.
func (flow *txFlow) deferredBefore(d *ssa.Defer) ssa.CallInstruction {
	i := slices.IndexFunc(flow.commits, func(c ssa.CallInstruction) bool {
		dc, ok := c.(*ssa.Defer)
		if !ok {
			return false
		}
		if dc.Block() == d.Block() {
			return ssax.IndexIn(dc.Block(), dc) < ssax.IndexIn(d.Block(), d)
		}
		return dc.Block().Dominates(d.Block())
	})
	if i < 0 {
		return nil
	}
	return flow.commits[i]
}

// insideTx returns the call whose literal, around or equal to fn, runs inside a transaction; nil if there is none.
func insideTx(fn *ssa.Function) ssa.CallInstruction {
	for ; fn.Parent() != nil; fn = fn.Parent() {
		call := ssax.TakerOf(fn)
		if call == nil {
			continue
		}
		m, ok := ssax.MethodOf(call.Common())
		if !ok || clients.OfPackage(m.Obj.Pkg()) != clients.None {
			continue
		}
		given := slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool { return IsTx(p.Type()) })
		if given && inTxMethod.MatchString(m.Obj.Name()) || !given && ridesInContext(fn) && inTxContext.MatchString(m.Obj.Name()) {
			return call
		}
	}
	return nil
}

// inTxContext finds functions that run a literal in a transaction which they put into its context.
var inTxContext = regexp.MustCompile(`(?i)^(run|do|with|exec|execute|perform|wrap)?(in|within|with)?a?(db|sql|new)?` +
	`(tx|trx|txn|transaction|transactional|transactionally)(func|fn|ctx|context|opts|options)?$`)

// ridesInContext reports whether a literal may have its transaction in its context: it has a context of its own, nothing
// else, and returns an error, which rolls back.
func ridesInContext(lit *ssa.Function) bool {
	params, results := lit.Signature.Params(), lit.Signature.Results()
	return params.Len() == 1 && ssax.IsContext(params.At(0).Type()) &&
		results.Len() > 0 && ssax.IsError(results.At(results.Len()-1).Type())
}
