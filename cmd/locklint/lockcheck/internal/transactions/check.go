package transactions

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Check reports locks that do not enclose the transactions of their section. A lock that is taken before
// Begin and released after Commit is right; whoever takes it inside the transaction may read from a snapshot that is
// older than the lock, and whoever releases it before the commit lets the next one read what was there before.
func Check(r *check.Reporter, of func(clients.Client) bool) {
	flows := map[*ssa.Function]*txFlow{}
	for _, flow := range r.Flows(of) {
		checkLock(r, flow.Site.Name, flow.Site.Call, ssax.CallsOf(flow.Releases), flows)
	}
	checkHelpers(r, of, flows)
	if of(clients.ByHand) {
		checkByHand(r, flows)
	}
}

// checkByHand is Check for locks by hand that a function acquires and releases, with commands of its own or through
// functions of the program.
func checkByHand(r *check.Reporter, flows map[*ssa.Function]*txFlow) {
	releases := map[*ssa.Call][]ssa.CallInstruction{}
	var acquires []*rediscmd.Command
	for _, l := range r.Index.Locks {
		call, ok := l.Acquire.Call.(*ssa.Call)
		if !ok || l.Acquire.Fn != l.Release.Fn || l.Acquire.Leased || !locks.Speaks(l.Acquire) || r.Index.InTest(call.Pos()) {
			continue
		}
		if releases[call] == nil {
			acquires = append(acquires, l.Acquire)
		}
		releases[call] = append(releases[call], l.Release.Call)
	}
	for _, a := range acquires {
		name := a.What()
		checkLock(r, name, a.Call.(*ssa.Call), releases[a.Call.(*ssa.Call)], flows)
	}
}

// checkLock looks at one lock, whose acquire messages call by a name.
func checkLock(r *check.Reporter, name string, acquire *ssa.Call, releases []ssa.CallInstruction, flows map[*ssa.Function]*txFlow) {
	if ReportOpenTx(r, name, acquire) {
		return
	}
	fn := acquire.Parent()
	tx, known := flows[fn]
	if !known {
		tx = FollowTx(fn)
		flows[fn] = tx
	}
	if tx == nil {
		return
	}
	begin, commit := tx.CommitOf(acquire)
	release, late := tx.releasedEarly(releases)
	switch {
	case begin != nil && release == nil:
		ReportInTx(r, name, acquire, begin.Pos(), token.NoPos)
	case begin != nil:
		ReportInTx(r, name, acquire, begin.Pos(), commit.Common().Pos())
	case release != nil:
		reportEarly(r, name, acquire, release, late)
	}
}

// releasedEarly returns one of some releases that comes before the commit of a transaction that is open, and that
// commit. Nil if there is none.
func (flow *txFlow) releasedEarly(releases []ssa.CallInstruction) (release, commit ssa.CallInstruction) {
	for _, r := range releases {
		if d := ssax.DeferOf(r, flow.fn); d != nil {
			if c := flow.deferredBefore(d); c != nil {
				return r, c
			}
			continue
		}
		if r.Parent() != flow.fn {
			continue
		}
		if _, c := flow.CommitOf(r); c != nil {
			return r, c
		}
	}
	return nil, nil
}

// ReportOpenTx reports an acquire in a literal that runs in a transaction, or in a function that is given one.
func ReportOpenTx(r *check.Reporter, name string, call *ssa.Call) bool {
	if taker := insideTx(call.Parent()); taker != nil {
		ReportInTx(r, name, call, taker.Common().Pos(), token.NoPos)
		return true
	}
	p := handedTx(call)
	if p != nil {
		pos, end := r.CallSpan(call)
		ReportTaken(r, name, pos, end, HandedIn(p), p.Pos(), token.NoPos)
	}
	return p != nil
}

// HandedIn names a transaction that a function is given.
func HandedIn(p *ssa.Parameter) string { return "that is handed in as " + p.Name() }

// ReportInTx reports an acquire inside a transaction; commit is valid if the lock is released before it.
func ReportInTx(r *check.Reporter, name string, call *ssa.Call, begin, commit token.Pos) {
	pos, end := r.CallSpan(call)
	ReportTaken(r, name, pos, end, "begun at "+r.Place(begin, pos), begin, commit)
}

// ReportTaken reports a lock that is taken inside a transaction.
func ReportTaken(r *check.Reporter, name string, pos, end token.Pos, which string, begin, commit token.Pos) {
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s is taken inside the transaction %s", name, which),
		Related: []analysis.RelatedInformation{{Pos: begin, Message: "the transaction is open from here on"}},
	}
	if commit.IsValid() {
		d.Message += fmt.Sprintf(" and released before its commit at %s", r.Place(commit, pos))
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: commit, Message: "it commits here"})
	}
	d.Message += ": what it reads may be older than the lock, and others see its writes only after the commit; acquire " +
		"before it begins and release after it commits"
	r.Report(d)
}

// reportEarly reports a release before the commit.
func reportEarly(r *check.Reporter, name string, acquire *ssa.Call, release, commit ssa.CallInstruction) {
	pos, end := r.CallSpan(release)
	r.Report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s at %s is released before the transaction commits at %s: the next holder "+
			"reads what was there before it; release after the commit",
			name, r.Place(acquire.Pos(), pos), r.Place(commit.Common().Pos(), pos)),
		Related: []analysis.RelatedInformation{
			{Pos: acquire.Pos(), Message: "acquired here"},
			{Pos: commit.Common().Pos(), Message: "commits here"},
		},
	})
}
