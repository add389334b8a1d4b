package lockcheck

import (
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll3006 = newCheck("LL3006", "one Mutex shared by goroutines", Warning, false, checkShared).off()

// checkShared reports redsync mutexes that several goroutines lock: a Mutex keeps the token of its last lock without
// guarding it, so goroutines overwrite each other's. It looks at goroutines that are started in a loop around which the
// mutex is made, and at package variables.
func checkShared(r *reporter) {
	for _, flow := range r.flows(func(c client) bool { return c == redsync }) {
		site := flow.site
		if site.recv == nil || r.index.inTest(site.call.Pos()) {
			continue
		}
		how, at := sharedBy(site)
		if how == "" || isMain(flow.fn) && at == nil {
			continue
		}
		pos, end := r.callSpan(site.call)
		d := analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s locks a Mutex that %s: it keeps one token, and whoever locks it last overwrites the "+
				"others'; make one with NewMutex for each", r.callText(site.call), how),
		}
		if at != nil {
			d.Related = []analysis.RelatedInformation{{Pos: at.Pos(), Message: "started here, more than once"}}
		}
		r.report(d)
	}
}

// sharedBy says by whom a mutex is shared, "" if nobody can tell.
func sharedBy(site *leaseSite) (how string, at ssa.Instruction) {
	if load, ok := site.recv.(*ssa.UnOp); ok {
		if _, ok := load.X.(*ssa.Global); ok {
			return "is a package variable, which all goroutines share", nil
		}
	}
	made, ok := soleValue(site.recv).(ssa.Instruction)
	if !ok || made.Parent() == site.call.Parent() {
		return "", nil
	}
	lit := site.call.Parent()
	for lit.Parent() != nil && lit.Parent() != made.Parent() {
		lit = lit.Parent()
	}
	if lit.Parent() == nil {
		return "", nil
	}
	var start ssa.Instruction
	if g := startedBy(lit); g != nil {
		start = g
	} else if call := takerOf(lit); call != nil {
		if m, ok := methodOf(call.Common()); ok && m.obj.Name() == "Go" {
			start = call
		}
	}
	if start == nil || !reaches(start.Block(), start.Block()) || reaches(start.Block(), made.Block()) {
		return "", nil
	}
	return "every goroutine of the loop shares", start
}
