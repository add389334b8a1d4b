package lockcheck

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1009 = newCheck("LL1009",
	"lock taken inside an open transaction, or released before its commit", Error, false, checkLeasesInTx)

func checkLeasesInTx(r *reporter) {
	r.checkTransactions(func(c client) bool { return c == lockRuntime })
	for _, s := range r.criticals() {
		switch {
		case s.call == nil:
			r.checkGuardedTx(s)
		case s.site == nil:
			r.checkDoInTx(s)
		}
	}
}

// checkTransactions reports locks that do not enclose the transactions of their section. A lock that is taken before
// Begin and released after Commit is right; whoever takes it inside the transaction may read from a snapshot that is
// older than the lock, and whoever releases it before the commit lets the next one read what was there before.
func (r *reporter) checkTransactions(of func(client) bool) {
	flows := map[*ssa.Function]*txFlow{}
	for _, flow := range r.flows(of) {
		call := flow.site.call
		if r.reportOpenTx(flow.site.name, call) {
			continue
		}
		tx, known := flows[flow.fn]
		if !known {
			tx = followTx(flow.fn)
			flows[flow.fn] = tx
		}
		if tx == nil {
			continue
		}
		begin, commit := tx.commitOf(call)
		release, late := tx.releasedEarly(flow)
		switch {
		case begin != nil && release == nil:
			r.reportInTx(flow.site.name, call, begin.Pos(), token.NoPos)
		case begin != nil:
			r.reportInTx(flow.site.name, call, begin.Pos(), commit.Common().Pos())
		case release != nil:
			r.reportEarly(flow, release, late)
		}
	}
}

// releasedEarly returns a release of the lease that comes before the commit of a transaction that is open, and that
// commit. Nil if there is none.
func (flow *txFlow) releasedEarly(lease *siteFlow) (release, commit ssa.CallInstruction) {
	for _, r := range callsOf(lease.releases) {
		if d := deferOf(r, flow.fn); d != nil {
			if c := flow.deferredBefore(d); c != nil {
				return r, c
			}
			continue
		}
		if r.Parent() != flow.fn {
			continue
		}
		if _, c := flow.commitOf(r); c != nil {
			return r, c
		}
	}
	return nil, nil
}

// checkDoInTx reports a call of Do inside a transaction: the lock is released when Do returns, before the commit.
func (r *reporter) checkDoInTx(s *critical) {
	if r.reportOpenTx(s.name, s.call) {
		return
	}
	if tx := followTx(s.fn); tx != nil {
		if begin, commit := tx.commitOf(s.call); begin != nil {
			r.reportInTx(s.name, s.call, begin.Pos(), commit.Common().Pos())
		}
	}
}

// checkGuardedTx reports a function with a directive that is given a transaction: its wrapper, which is given it first,
// takes the lock in there.
func (r *reporter) checkGuardedTx(s *critical) {
	if p := txParam(s.fn); p != nil && !mayBeNil(p) {
		r.reportTaken(s.name, s.pos, s.pos+token.Pos(len(s.fn.Name())), handedIn(p), p.Pos(), token.NoPos)
	}
}

// reportOpenTx reports an acquire in a literal that runs in a transaction, or in a function that is given one.
func (r *reporter) reportOpenTx(name string, call *ssa.Call) bool {
	if taker := insideTx(call.Parent()); taker != nil {
		r.reportInTx(name, call, taker.Common().Pos(), token.NoPos)
		return true
	}
	p := handedTx(call)
	if p != nil {
		pos, end := r.callSpan(call)
		r.reportTaken(name, pos, end, handedIn(p), p.Pos(), token.NoPos)
	}
	return p != nil
}

func handedIn(p *ssa.Parameter) string { return "that is handed in as " + p.Name() }

// reportInTx reports an acquire inside a transaction; commit is valid if the lock is released before it.
func (r *reporter) reportInTx(name string, call *ssa.Call, begin, commit token.Pos) {
	pos, end := r.callSpan(call)
	r.reportTaken(name, pos, end, "begun at "+r.place(begin, pos), begin, commit)
}

// reportTaken reports a lock that is taken inside a transaction.
func (r *reporter) reportTaken(name string, pos, end token.Pos, which string, begin, commit token.Pos) {
	d := analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s is taken inside the transaction %s", name, which),
		Related: []analysis.RelatedInformation{{Pos: begin, Message: "the transaction is open from here on"}},
	}
	if commit.IsValid() {
		d.Message += fmt.Sprintf(" and released before its commit at %s", r.place(commit, pos))
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: commit, Message: "it commits here"})
	}
	d.Message += ": what it reads may be older than the lock, and others see its writes only after the commit; acquire " +
		"before it begins and release after it commits"
	r.report(d)
}

// reportEarly reports a release before the commit.
func (r *reporter) reportEarly(flow *siteFlow, release, commit ssa.CallInstruction) {
	pos, end := r.callSpan(release)
	r.report(analysis.Diagnostic{
		Pos: pos, End: end,
		Message: fmt.Sprintf("the lock from %s at %s is released before the transaction commits at %s: the next holder "+
			"reads what was there before it; release after the commit",
			flow.site.name, r.place(flow.site.call.Pos(), pos), r.place(commit.Common().Pos(), pos)),
		Related: []analysis.RelatedInformation{
			{Pos: flow.site.call.Pos(), Message: "acquired here"},
			{Pos: commit.Common().Pos(), Message: "commits here"},
		},
	})
}
