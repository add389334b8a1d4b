// Package leaks reports locks that some path leaves held.
package leaks

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

// Check reports each acquire whose lease some path leaves behind. A lease that is never released at all is left
// alone where that may be meant: with NoRenew, in a function that closes the locker, and in tests, whose locker ends
// with them.
func Check(r *check.Reporter, of func(clients.Client) bool) {
	var told []*leases.Flow
	for _, flow := range r.Flows(of) {
		reportRefusing(r, flow)
		if len(flow.Leaks) == 0 || flow.Site.Closed || !flow.Site.Owned() && !unlocksAlone(r.Index, flow) {
			continue
		}
		if !flow.Released && (flow.Site.Claims() || flow.Site.Optional || r.Index.InTest(flow.Site.Call.Pos())) {
			continue
		}
		if r.Index.Leases.Marks(flow) || keptByFlag(flow) {
			continue
		}
		if slices.ContainsFunc(told, func(other *leases.Flow) bool { return sameLeak(flow, other) }) {
			continue
		}
		told = append(told, flow)
		exits := exitsOf(r, flow)
		d := analysis.Diagnostic{
			Pos:     flow.Site.Call.Pos(),
			Message: leakMessage(r, flow, exits),
			Related: exits.related(),
		}
		if call := r.Index.CallExpr(flow.Site.Call); call != nil {
			d.Pos, d.End = call.Pos(), call.End()
			if flow.Site.Library == clients.Runtime {
				if fix := deferRelease(r, call, flow); fix != nil {
					d.SuggestedFixes = []analysis.SuggestedFix{*fix}
				}
			}
		}
		r.Report(d)
	}
}

// sameLeak reports whether two acquires, as those of a loop that tries again, fill one variable and leave it behind at
// one place.
func sameLeak(x, y *leases.Flow) bool {
	return x.Fn == y.Fn && x.Site.SharesVariable(y.Site) && slices.ContainsFunc(x.Leaks, func(l leases.Leak) bool {
		return slices.ContainsFunc(y.Leaks, func(other leases.Leak) bool { return l.Exit == other.Exit })
	})
}

// An exit is one way out with the lease held, as it is shown to people.
type exit struct {
	pos  token.Pos
	when string // the condition, "" if there is none to name
	loop bool   // the acquire is reached again
	// inside: the exit stands in the body of the condition. Otherwise the condition only says how the path got by the
	// releases.
	inside bool
}

type exits []exit

// exitsOf lists the ways out in source order, each place once.
func exitsOf(r *check.Reporter, flow *leases.Flow) exits {
	var list exits
	seen := map[token.Pos]bool{}
	for _, l := range flow.Leaks {
		e := exit{pos: l.Exit.Pos()}
		e.when, e.inside = condition(r, l, flow)
		if !e.inside && !flow.Released {
			e.when = ""
		}
		if _, ok := l.Exit.(*ssa.Call); ok {
			e.loop = true
		}
		if !e.pos.IsValid() {
			e.pos = endOf(l.Exit.Parent())
		}
		if !seen[e.pos] {
			seen[e.pos] = true
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b exit) int { return int(a.pos) - int(b.pos) })
	return list
}

// endOf is the closing brace of a function, where it returns without a return statement.
func endOf(fn *ssa.Function) token.Pos {
	switch n := fn.Syntax().(type) {
	case *ast.FuncDecl:
		return n.Body.Rbrace
	case *ast.FuncLit:
		return n.Body.Rbrace
	}
	return fn.Pos()
}

func leakMessage(r *check.Reporter, flow *leases.Flow, exits exits) string {
	first := exits[0]
	where := fmt.Sprintf("the return at %s", r.Place(first.pos, flow.Site.Call.Pos()))
	if first.loop {
		where = "the next iteration, which acquires again"
	}
	if first.when != "" {
		where += fmt.Sprintf(" (when %s)", first.when)
	}
	what := flow.Site.Library.HandleName()
	if !flow.Released && !flow.HandedOn {
		till := "until its TTL"
		switch flow.Site.Library {
		case clients.Redsync, clients.Redislock, clients.GoZero:
		default:
			till = "for as long as it is renewed"
		}
		return fmt.Sprintf("the %s from %s is never released: %s leaves it held %s", what, flow.Site.Name, where, till)
	}
	more := ""
	if n := len(exits) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the %s from %s is not released on every path: %s%s leaves it held", what, flow.Site.Name, where,
		more)
}

// related lists the exits as positions of their own.
func (list exits) related() []analysis.RelatedInformation {
	var out []analysis.RelatedInformation
	for _, e := range list {
		msg := "still held here"
		if e.loop {
			msg = "acquired again here while still held"
		}
		if e.when != "" {
			msg += " when " + e.when
		}
		out = append(out, analysis.RelatedInformation{Pos: e.pos, Message: msg})
	}
	return out
}
