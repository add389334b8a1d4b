// Package ll3006 is the check LL3006; see doc.md.
package ll3006

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3006.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: checkShared})

// checkShared reports redsync mutexes that several goroutines lock: a Mutex keeps the token of its last lock without
// guarding it, so goroutines overwrite each other's. It looks at goroutines that are started in a loop around which the
// mutex is made, and at package variables.
func checkShared(r *check.Reporter) {
	for _, flow := range r.Flows(func(c clients.Client) bool { return c == clients.Redsync }) {
		site := flow.Site
		if site.Recv == nil || r.Index.InTest(site.Call.Pos()) {
			continue
		}
		how, at := sharedBy(site)
		if how == "" || ssax.IsMain(flow.Fn) && at == nil {
			continue
		}
		pos, end := r.CallSpan(site.Call)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s locks a Mutex that %s: it keeps one token, and whoever locks it last overwrites the "+
				"others'; make one with NewMutex for each", r.CallText(site.Call), how),
		}
		if at != nil {
			d.Related = []analysis.RelatedInformation{{Pos: at.Pos(), Message: "started here, more than once"}}
		}
		r.Report(d)
	}
}

// sharedBy says by whom a mutex is shared, "" if nobody can tell.
func sharedBy(site *leases.Site) (how string, at ssa.Instruction) {
	if load, ok := site.Recv.(*ssa.UnOp); ok {
		if _, ok := load.X.(*ssa.Global); ok {
			return "is a package variable, which all goroutines share", nil
		}
	}
	made, ok := ssax.SoleValue(site.Recv).(ssa.Instruction)
	if !ok || made.Parent() == site.Call.Parent() {
		return "", nil
	}
	lit := site.Call.Parent()
	for lit.Parent() != nil && lit.Parent() != made.Parent() {
		lit = lit.Parent()
	}
	if lit.Parent() == nil {
		return "", nil
	}
	var start ssa.Instruction
	if g := ssax.StartedBy(lit); g != nil {
		start = g
	} else if call := ssax.TakerOf(lit); call != nil {
		if m, ok := ssax.MethodOf(call.Common()); ok && m.Obj.Name() == "Go" {
			start = call
		}
	}
	if start == nil || !ssax.Reaches(start.Block(), start.Block()) || ssax.Reaches(start.Block(), made.Block()) {
		return "", nil
	}
	return "every goroutine of the loop shares", start
}
