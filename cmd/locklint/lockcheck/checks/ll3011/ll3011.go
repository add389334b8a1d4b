// Package ll3011 is the check LL3011; see doc.md.
package ll3011

import (
	_ "embed"
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3011.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: checkLosses})

// checkLosses reports locks whose loss nobody can learn of: Consul says it by a channel, etcd by the session's.
func checkLosses(r *check.Reporter) {
	watched := false
	for _, fn := range r.Index.Funcs {
		ssax.EachCall(fn, func(call ssa.CallInstruction) { watched = watched || watchesSession(call.Common()) })
	}
	for _, flow := range r.Flows(clients.IsCoordinator) {
		site := flow.Site
		if site.Recv == nil || r.Index.InTest(site.Call.Pos()) {
			continue
		}
		how := ""
		switch own := handles.Library(site.Recv.Type()) == clients.None; {
		case own && returnsChannel(site) && !channelUsed(site):
			how = "it returns a channel that is closed then, and nobody receives from it"
		case own: // told where the type takes it
			continue
		case site.Library == clients.Consul && !channelUsed(site):
			how = "Consul closes the channel that it returns, and nobody receives from it"
		case site.Library == clients.Etcd && !watched:
			how = "etcd closes the session's Done, and nothing in this package asks for it"
		default:
			continue
		}
		pos, end := r.CallSpan(site.Call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the loss of the lock that %s takes goes unnoticed: %s; stop the work when it is closed",
				r.CallText(site.Call), how),
		})
	}
}

// returnsChannel reports whether an acquire of the program's own returns a channel beside its error, as Consul's does.
func returnsChannel(site *leases.Site) bool {
	results := site.Call.Call.Signature().Results()
	if results.Len() < 2 {
		return false
	}
	ch, ok := results.At(0).Type().Underlying().(*types.Chan)
	return ok && ch.Dir() != types.SendOnly
}

// watchesSession reports whether a call asks an etcd session for the channel or the context that ends with it.
func watchesSession(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return ok && m.Recv != nil && clients.Named(m.Recv.Type(), clients.Etcd) == "Session" &&
		(m.Obj.Name() == "Done" || m.Obj.Name() == "Ctx")
}

// channelUsed reports whether the channel that Consul returns is more than compared with nil.
func channelUsed(site *leases.Site) bool {
	for _, instr := range *site.Call.Referrers() {
		ex, ok := instr.(*ssa.Extract)
		if !ok {
			return true
		}
		if ex.Index == 0 && watched(ex, map[ssa.Value]bool{}) {
			return true
		}
	}
	return false
}

// watched reports whether anything is done with a channel but to compare it with nil.
func watched(ch ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[ch] {
		return false
	}
	seen[ch] = true
	for _, instr := range *ch.Referrers() {
		switch instr := instr.(type) {
		case *ssa.DebugRef:
		case *ssa.BinOp:
			if instr.Op != token.EQL && instr.Op != token.NEQ {
				return true
			}
		case *ssa.Phi:
			if watched(instr, seen) {
				return true
			}
		default:
			return true
		}
	}
	return false
}
