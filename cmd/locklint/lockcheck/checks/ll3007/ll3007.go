// Package ll3007 is the check LL3007; see doc.md.
package ll3007

import (
	_ "embed"
	"fmt"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL3007.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: checkExpiries})

// redsyncExpiry is how long redsync's locks last unless told otherwise.
const redsyncExpiry = 8 * time.Second

// checkExpiries reports locks whose constant time to live is shorter than the constant sleeps or timeouts of the work,
// where nothing in the function extends them.
func checkExpiries(r *check.Reporter) {
	for _, flow := range r.Flows(clients.IsPeer) {
		ttl, ok := expiryOf(flow.Site)
		if !ok || extends(flow.Fn) || r.Index.InTest(flow.Site.Call.Pos()) {
			continue
		}
		s := &sections.Section{Inside: flow.Inside}
		work, call := sections.VisibleWork(s.Calls())
		if work < ttl {
			continue
		}
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the work takes up to %s, and the lock from %s at %s lasts %s: it expires before the work "+
				"is done; extend it meanwhile, or make it longer",
				work, flow.Site.Name, r.Place(flow.Site.Call.Pos(), pos), ttl),
			Related: []analysis.RelatedInformation{{Pos: flow.Site.Call.Pos(), Message: "acquired here"}},
		})
	}
}

// expiryOf is the constant time to live of a lock. rueidislock renews its own.
func expiryOf(site *leases.Site) (time.Duration, bool) {
	m, ok := ssax.MethodOf(&site.Call.Call)
	if !ok {
		return 0, false
	}
	if clients.OfPackage(m.Obj.Pkg()) == clients.Redislock {
		for _, a := range m.Args {
			if ssax.IsDuration(a.Type()) {
				return ssax.ConstDuration(a)
			}
		}
		return 0, false
	}
	made, ok := ssax.SoleValue(site.Recv).(*ssa.Call)
	if !ok {
		return 0, false
	}
	maker, ok := ssax.MethodOf(&made.Call)
	if !ok || clients.OfPackage(maker.Obj.Pkg()) != clients.Redsync || maker.Obj.Name() != "NewMutex" {
		return 0, false
	}
	options, ok := ssax.Variadic(maker.Arg(1))
	if !ok {
		return 0, false
	}
	ttl := redsyncExpiry
	for _, o := range options {
		call, ok := o.(*ssa.Call)
		if !ok {
			return 0, false
		}
		fn := call.Call.StaticCallee()
		if fn == nil || fn.Name() != "WithExpiry" && fn.Name() != "SetExpiry" {
			continue
		}
		if ttl, ok = ssax.ConstDuration(call.Call.Args[0]); !ok {
			return 0, false
		}
	}
	return ttl, true
}

// extends reports whether a function, or a literal in it, extends some lock.
func extends(fn *ssa.Function) bool {
	found := false
	ssax.EachCall(ssax.Outermost(fn), func(call ssa.CallInstruction) {
		handle := handles.Of(call.Common())
		found = found || handle != nil && handles.Is(handle.Type()) &&
			handles.VerbOf(call.Common(), handle) == handles.VerbExtend
	})
	return found
}
