package transactions

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// checkHelpers reports calls of functions that run another one under a lock, where a transaction is open: the lock is
// gone when they return, and the transaction commits later.
func checkHelpers(r *check.Reporter, of func(clients.Client) bool, flows map[*ssa.Function]*txFlow) {
	if r.Index.Leases == nil {
		return
	}
	for _, fn := range r.Index.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(*ssa.Call)
				if !ok {
					continue
				}
				if given, library := r.Index.Leases.Around(call); given != nil && of(library) {
					checkHelper(r, call, given, flows)
				}
			}
		}
	}
}

func checkHelper(r *check.Reporter, call *ssa.Call, given ssa.Value, flows map[*ssa.Function]*txFlow) {
	m, _ := ssax.MethodOf(&call.Call)
	name := ssax.ShortName(m.Obj)
	if ReportOpenTx(r, name, call) {
		return
	}
	tx, known := flows[call.Parent()]
	if !known {
		tx = FollowTx(call.Parent())
		flows[call.Parent()] = tx
	}
	if tx != nil {
		if begin, commit := tx.CommitOf(call); begin != nil {
			ReportInTx(r, name, call, begin.Pos(), commit.Common().Pos())
			return
		}
	}
	if commit := commitsBehind(call, ssax.LiteralOf(given)); commit != nil {
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the lock from %s is released before the transaction commits at %s: the next holder reads "+
				"what was there before it; commit in the function that runs under the lock",
				name, r.Place(commit.Common().Pos(), pos)),
			Related: []analysis.RelatedInformation{{Pos: commit.Common().Pos(), Message: "commits here"}},
		})
	}
}

// commitsBehind is the commit, behind a call, of a transaction that a literal begins which the call runs. Nil for none.
func commitsBehind(call *ssa.Call, lit *ssa.Function) ssa.CallInstruction {
	if lit == nil || lit.Parent() != call.Parent() {
		return nil
	}
	begins := map[ssa.Value]bool{}
	for _, b := range lit.Blocks {
		for _, instr := range b.Instrs {
			if c, ok := instr.(*ssa.Call); ok && begun(c) != nil {
				begins[c] = true
			}
		}
	}
	ssax.EachCall(lit, func(c ssa.CallInstruction) {
		if tx, commit := ends(c.Common()); commit {
			delete(begins, tx) // there is one already
		}
	})
	for _, b := range call.Parent().Blocks {
		for _, instr := range b.Instrs {
			later, ok := instr.(*ssa.Call)
			if !ok || !ssax.ComesAfter(call, later) {
				continue
			}
			if tx, commit := ends(&later.Call); commit && begins[tx] {
				return later
			}
		}
	}
	return nil
}
