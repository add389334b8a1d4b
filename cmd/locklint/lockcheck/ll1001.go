package lockcheck

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1001 = newCheck("LL1001", "lease not released on every path", Error, true, func(r *reporter) {
	r.checkLeaks(func(c client) bool { return c == lockRuntime })
})

// isPeer reports whether a library is one of those that LL3 is about.
func isPeer(c client) bool { return c == redsync || c == redislock || c == rueidislock }

// checkLeaks reports each acquire whose lease some path leaves behind. A lease that is never released at all is left
// alone where that may be meant: with NoRenew, in a function that closes the locker, and in tests, whose locker ends
// with them.
func (r *reporter) checkLeaks(of func(client) bool) {
	for _, flow := range r.flows(of) {
		if len(flow.leaks) == 0 || flow.site.closed || !flow.site.owned() && !r.index.unlocksAlone(flow) {
			continue
		}
		if !flow.released && (flow.site.optional || r.index.inTest(flow.site.call.Pos())) {
			continue
		}
		exits := r.exitsOf(flow)
		d := analysis.Diagnostic{
			Pos:     flow.site.call.Pos(),
			Message: r.leakMessage(flow, exits),
			Related: exits.related(),
		}
		if call := r.index.callExpr(flow.site.call); call != nil {
			d.Pos, d.End = call.Pos(), call.End()
			if flow.site.library == lockRuntime {
				if fix := r.deferRelease(call, flow); fix != nil {
					d.SuggestedFixes = []analysis.SuggestedFix{*fix}
				}
			}
		}
		r.report(d)
	}
}

// flows are the leases of some libraries that could be followed to the end.
func (r *reporter) flows(of func(client) bool) []*siteFlow {
	if r.index.leases == nil {
		return nil
	}
	var list []*siteFlow
	for _, flow := range r.index.leases.flows {
		if !flow.gaveUp && of(flow.site.library) {
			list = append(list, flow)
		}
	}
	return list
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
func (r *reporter) exitsOf(flow *siteFlow) exits {
	var list exits
	seen := map[token.Pos]bool{}
	for _, l := range flow.leaks {
		e := exit{pos: l.exit.Pos()}
		e.when, e.inside = r.condition(l, flow)
		if !e.inside && !flow.released {
			e.when = ""
		}
		if _, ok := l.exit.(*ssa.Call); ok {
			e.loop = true
		}
		if !e.pos.IsValid() {
			e.pos = endOf(l.exit.Parent())
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

func (r *reporter) leakMessage(flow *siteFlow, exits exits) string {
	first := exits[0]
	where := fmt.Sprintf("the return at %s", r.place(first.pos, flow.site.call.Pos()))
	if first.loop {
		where = "the next iteration, which acquires again"
	}
	if first.when != "" {
		where += fmt.Sprintf(" (when %s)", first.when)
	}
	what := flow.site.library.handleName()
	if !flow.released {
		till := "until its TTL"
		if flow.site.library != redsync && flow.site.library != redislock {
			till = "for as long as it is renewed"
		}
		return fmt.Sprintf("the %s from %s is never released: %s leaves it held %s", what, flow.site.name, where, till)
	}
	more := ""
	if n := len(exits) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the %s from %s is not released on every path: %s%s leaves it held", what, flow.site.name, where,
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
