// Package ll1009 is the check LL1009; see doc.md.
package ll1009

import (
	_ "embed"
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/transactions"
)

//go:embed doc.md
var page string

// Check is LL1009.
var Check = check.New(check.Spec{Page: page, Severity: check.Error, Run: checkLeasesInTx})

func checkLeasesInTx(r *check.Reporter) {
	transactions.Check(r, func(c clients.Client) bool { return c == clients.Runtime })
	for _, s := range r.Criticals() {
		switch {
		case s.Tx:
			checkEnds(r, s)
			if s.Call != nil {
				checkDoInTx(r, s)
			}
		case s.Call == nil:
			checkGuardedTx(r, s)
		case s.Site == nil:
			checkDoInTx(r, s)
		}
	}
}

// checkDoInTx reports a call of Do inside a transaction: the lock is released when Do returns, before the commit.
func checkDoInTx(r *check.Reporter, s *sections.Section) {
	if transactions.ReportOpenTx(r, s.Name, s.Call) {
		return
	}
	if tx := transactions.FollowTx(s.Fn); tx != nil {
		if begin, commit := tx.CommitOf(s.Call); begin != nil {
			transactions.ReportInTx(r, s.Name, s.Call, begin.Pos(), commit.Common().Pos())
		}
	}
}

// checkGuardedTx reports a function with a directive that is given a transaction: its wrapper, which is given it first,
// takes the lock in there.
func checkGuardedTx(r *check.Reporter, s *sections.Section) {
	if p := transactions.TxParam(s.Fn); p != nil && !transactions.MayBeNil(p) {
		transactions.ReportTaken(r, s.Name, s.Pos, s.Pos+token.Pos(len(s.Fn.Name())), transactions.HandedIn(p), p.Pos(),
			token.NoPos)
	}
}

// checkEnds reports a commit or rollback by hand of a transaction that is ended by who has begun it.
func checkEnds(r *check.Reporter, s *sections.Section) {
	given := transactions.TxParam(s.Body)
	if given == nil {
		return
	}
	for _, call := range s.Calls() {
		name := transactions.EndOf(call.Common(), given)
		if name == "" {
			continue
		}
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s ends the transaction that %s has begun and ends itself: its guard goes with it, and what "+
				"%s returns is no longer what has become of it; return nil to commit, and an error to roll back",
				r.CallText(call), s.Name, s.Name),
			Related: []analysis.RelatedInformation{{Pos: given.Pos(), Message: "the transaction comes from here"}},
		})
	}
}
