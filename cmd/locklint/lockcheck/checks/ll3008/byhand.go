package ll3008

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// reportByHand reports the same of locks by hand, in functions that acquire and release: the commands themselves, or the
// calls of functions that issue them with the context that they are given.
func reportByHand(r *check.Reporter) {
	acquires, releases := map[*ssa.Function][]ssa.CallInstruction{}, map[*ssa.Function][]releaseByHand{}
	for _, l := range r.Index.Locks {
		if a, del := l.Acquire, l.Release; a.Fn == del.Fn && r.Index.Expires(a) && !del.Detached {
			acquires[a.Fn] = append(acquires[a.Fn], a.Call)
			releases[a.Fn] = append(releases[a.Fn], releaseByHand{del.Call, del.Op == ops.CompareDel})
		}
	}
	for _, fn := range r.Index.Funcs {
		if fn.Parent() != nil {
			continue
		}
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			switch verb, compares := through(r, call); verb {
			case handles.VerbLock:
				acquires[fn] = append(acquires[fn], call)
			case handles.VerbRelease:
				releases[fn] = append(releases[fn], releaseByHand{call, compares})
			}
		})
		for _, release := range releases[fn] {
			acquire := acquiredBefore(acquires[fn], release.call)
			if acquire == token.NoPos || decidedLater(release.call) {
				continue
			}
			given := whatIsSeen
			if release.compares || ssax.DeferOf(release.call, fn) != nil {
				given = alsoElsewhere
			}
			reportContext(r, release.call, acquire, given)
		}
	}
}

// releaseByHand is a release, and whether it compares the owner, as far as anybody sees: one that does not, and is not
// deferred, may as well take back something else than a lock.
type releaseByHand struct {
	call     ssa.CallInstruction
	compares bool
}

// decidedLater reports whether a release stands in a literal with the context that this is given: whoever runs it decides.
func decidedLater(release ssa.CallInstruction) bool {
	p, ok := ssax.SoleValue(contextGiven(release.Common())).(*ssa.Parameter)
	return ok && p.Parent().Parent() != nil && givenTo(p) == nil
}

// calledElsewhere reports whether only other packages call a function, if any does: what they hand in is not seen.
func calledElsewhere(r *check.Reporter, fn *ssa.Function) bool {
	if obj := fn.Object(); obj == nil || !obj.Exported() {
		return false
	}
	called := false
	for _, other := range r.Index.Funcs {
		ssax.EachCall(other, func(call ssa.CallInstruction) {
			called = called || call.Common().StaticCallee() == fn && !r.Index.InTest(call.Pos())
		})
	}
	return !called
}

// through is what the function that a call runs does with a lock: it acquires one that expires, or it releases with the
// context that it is given, and compares the owner or not. One that does both is no half of a lock for its callers. A
// method of an interface that nobody is seen to implement is taken by its name.
func through(r *check.Reporter, call ssa.CallInstruction) (does handles.Verb, compares bool) {
	callee, _ := r.Index.CalleeOf(call.Common())
	if callee == nil {
		return handedOut(r, call.Common()), true
	}
	if c := call.Common(); c.IsInvoke() && callee == c.Method {
		if verb := handles.KeyedVerb(c.Value.Type(), c.Method); verb != handles.VerbOther {
			return verb, true
		}
		if handles.HandsOutRelease(c.Method) {
			return handles.VerbLock, true
		}
	}
	does, compares = handles.VerbOther, true
	for _, c := range r.Index.Of(callee) {
		verb := handles.VerbLock
		switch {
		case c.Op.Releases():
			verb = handles.VerbRelease
			compares = compares && c.Op == ops.CompareDel
		case c.Op != ops.Acquire:
			continue
		}
		if !c.Judged || c.Ended || c.Forced || does != handles.VerbOther && does != verb ||
			verb == handles.VerbLock && c.NoTTL() || verb == handles.VerbRelease && c.Detached {
			return handles.VerbOther, false
		}
		does = verb
	}
	return does, compares
}

// handedOut is VerbRelease for the call of a function that an acquire has returned, if that releases with the context that
// it is given.
func handedOut(r *check.Reporter, c *ssa.CallCommon) handles.Verb {
	if contextGiven(c) == nil {
		return handles.VerbOther
	}
	made := ssax.SoleValue(c.Value)
	if ex, ok := made.(*ssa.Extract); ok {
		made = ex.Tuple
	}
	acquire, ok := made.(*ssa.Call)
	if !ok {
		return handles.VerbOther
	}
	callee, _ := r.Index.CalleeOf(&acquire.Call)
	if callee == nil {
		return handles.VerbOther
	}
	if acquire.Call.IsInvoke() && callee == acquire.Call.Method && handles.HandsOutRelease(callee) {
		return handles.VerbRelease
	}
	for _, c := range r.Index.Of(callee) {
		if c.Op == ops.Acquire && c.HandsOn && c.Judged && !c.NoTTL() {
			return handles.VerbRelease
		}
	}
	return handles.VerbOther
}

// contextGiven is ssax.ContextOf, also for the call of a function that a variable holds.
func contextGiven(c *ssa.CallCommon) ssa.Value {
	if ctx := ssax.ContextOf(c); ctx != nil || c.IsInvoke() || c.StaticCallee() != nil {
		return ctx
	}
	if len(c.Args) > 0 && ssax.IsContext(c.Args[0].Type()) {
		return c.Args[0]
	}
	return nil
}

// acquiredBefore is where a function that releases has acquired, the last place if there are several.
func acquiredBefore(acquires []ssa.CallInstruction, release ssa.CallInstruction) token.Pos {
	at := token.NoPos
	for _, a := range acquires {
		outside := a.Parent() != release.Parent()
		if outside && a.Pos() < release.Pos() || !outside && ssax.ComesAfter(a, release) {
			at = a.Pos()
		}
	}
	return at
}

// deferredWithin is the release that a function of the package defers, where a call runs that function: it does the
// work and then releases, so that its own context is to be mended and not that of the work. Else it is the call itself.
func deferredWithin(r *check.Reporter, call ssa.CallInstruction) ssa.CallInstruction {
	fn := call.Common().StaticCallee()
	if fn == nil || fn.Pkg != r.Index.Pkg || len(fn.Blocks) == 0 {
		return call
	}
	for _, c := range r.Index.Commands[fn] {
		if !c.Op.Releases() || ssax.DeferOf(c.Call, fn) == nil {
			continue
		}
		if p, ok := ssax.SoleValue(ssax.ContextOf(c.Call.Common())).(*ssa.Parameter); ok && p.Parent() == fn {
			return c.Call
		}
	}
	return call
}
