package lockcheck

import (
	"fmt"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll3007 = newCheck("LL3007", "visible work exceeds the TTL without Extend", Warning, false, checkExpiries).off()

// redsyncExpiry is how long redsync's locks last unless told otherwise.
const redsyncExpiry = 8 * time.Second

// checkExpiries reports locks whose constant time to live is shorter than the constant sleeps or timeouts of the work,
// where nothing in the function extends them.
func checkExpiries(r *reporter) {
	for _, flow := range r.flows(isPeer) {
		ttl, ok := expiryOf(flow.site)
		if !ok || extends(flow.fn) || r.index.inTest(flow.site.call.Pos()) {
			continue
		}
		s := &critical{inside: flow.inside}
		work, call := visibleWork(s.calls())
		if work < ttl {
			continue
		}
		pos, end := r.callSpan(call)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("the work takes up to %s, and the lock from %s at %s lasts %s: it expires before the work "+
				"is done; extend it meanwhile, or make it longer",
				work, flow.site.name, r.place(flow.site.call.Pos(), pos), ttl),
			Related: []analysis.RelatedInformation{{Pos: flow.site.call.Pos(), Message: "acquired here"}},
		})
	}
}

// expiryOf is the constant time to live of a lock. rueidislock renews its own.
func expiryOf(site *leaseSite) (time.Duration, bool) {
	m, ok := methodOf(&site.call.Call)
	if !ok {
		return 0, false
	}
	if clientOfPackage(m.obj.Pkg()) == redislock {
		for _, a := range m.args {
			if isDuration(a.Type()) {
				return constDuration(a)
			}
		}
		return 0, false
	}
	made, ok := soleValue(site.recv).(*ssa.Call)
	if !ok {
		return 0, false
	}
	maker, ok := methodOf(&made.Call)
	if !ok || clientOfPackage(maker.obj.Pkg()) != redsync || maker.obj.Name() != "NewMutex" {
		return 0, false
	}
	options, ok := variadic(maker.arg(1))
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
		if ttl, ok = constDuration(call.Call.Args[0]); !ok {
			return 0, false
		}
	}
	return ttl, true
}

// extends reports whether a function, or a literal in it, extends some lock.
func extends(fn *ssa.Function) bool {
	found := false
	eachCall(outermost(fn), func(call ssa.CallInstruction) {
		handle := handleOf(call.Common())
		found = found || handle != nil && isHandle(handle.Type()) && verbOf(call.Common(), handle) == verbExtend
	})
	return found
}
