package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// call runs a call: the acquire itself, a method of the lease, a function literal, or a function that may have the
// lease as an argument.
func (f *follower) call(v *visit, call *ssa.Call, s pathState) []pathState {
	if f.site != nil && call == f.site.Call && f.depth == 0 {
		f.called(call, &s)
		f.acquire(v, call, &s)
		return []pathState{s}
	}
	s.set(call, unknown)
	if ssax.Literal(call.Common()) == nil {
		f.called(call, &s)
		f.setThrough(call, &s)
		s.set(call, f.answered(call, &s))
		f.setAtomic(call, &s)
	}
	if s.of(call) == unknown && ssax.IsBool(call.Type()) && isErrorTest(&s, call) && slices.ContainsFunc(*call.Referrers(), isKept) {
		s.set(call, failedIfTrue)
	}
	if ssax.IsError(call.Type()) {
		s.set(call, f.carried(&s, call))
	}
	f.made(call, &s)
	if s.isRefused() && f.takesAgain(call) {
		s.Lease = escaped
	}
	if lit := ssax.Literal(call.Common()); lit != nil {
		for i, a := range call.Call.Args {
			s.set(lit.Params[i], s.of(a))
		}
		ends := f.inline(lit, s)
		for i := range ends {
			f.setThrough(call, &ends[i])
		}
		return ends
	}
	f.pass(call, &s)
	return []pathState{s}
}

// takesAgain reports whether a call tries once more to get a lock of the kind that is followed. What runs behind it
// depends on that try: it is no longer known to run without a lock.
func (f *follower) takesAgain(call *ssa.Call) bool {
	if f.site == nil {
		return false
	}
	if other := f.li.siteOf(call); other != nil {
		return other.Library == f.site.Library
	}
	results := call.Call.Signature().Results()
	for v := range results.Variables() {
		if f.li.libraryOf(v.Type()) == f.site.Library {
			return true
		}
	}
	return false
}

// acquire runs the call that is followed. To reach it again with the lease held is a leak.
func (f *follower) acquire(v *visit, call *ssa.Call, s *pathState) {
	if (s.Lease == held || s.Lease == unchecked && !s.consulted) && len(s.defers) == 0 {
		f.flow.Leaks = append(f.flow.Leaks, Leak{call, v})
	}
	f.gone(s)
	if f.site.Recv != nil {
		s.locked(f.site.Recv)
		switch {
		case ssax.IsError(call.Type()):
			s.set(call, theError)
		case ssax.IsBool(call.Type()):
			s.set(call, theFlag)
		}
		return
	}
	for _, d := range s.defers {
		for _, a := range d.Call.Args {
			if s.of(a) == theLease {
				s.another(a)
			}
		}
	}
	s.acquired()
	switch into := f.site.into; {
	case into != nil && f.leaksNow(into, s):
		s.Lease = escaped
	case into != nil:
		s.set(into, theLease)
		s.set(call, theError)
	case f.site.only:
		s.set(call, theLease)
	}
}

// inline runs a function literal from a state; its own defers are its own.
func (f *follower) inline(lit *ssa.Function, s pathState) []pathState {
	if f.depth == ssax.MaxDepth {
		f.flow.GaveUp = true
		return nil
	}
	outer, deferred := s.defers, s.deferred
	s.defers, s.deferred = nil, nil
	f.depth++
	ends := f.run(lit, s)
	f.depth--
	for i := range ends {
		ends[i].defers = slices.Clone(outer)
		if !ends[i].over {
			ends[i].deferred = deferred
		}
	}
	return ends
}

// pass hands the arguments of a call over and says what becomes of the lease among them.
func (f *follower) pass(call ssa.CallInstruction, s *pathState) {
	c := call.Common()
	if handle := f.li.HandleOf(c); handle != nil && s.of(handle) == theLease {
		if f.otherKey(call) {
			return
		}
		f.handled(call, f.li.VerbOf(c, handle), s)
		return
	}
	if s.of(c.Value) == theLease {
		switch {
		case c.IsInvoke() && f.li.isOwn(c.Value.Type()): // asks the lock something
		case c.IsInvoke():
			s.Lease = escaped
		default:
			f.release(call, s) // a function that releases, with parameters or results of its own
		}
		return
	}
	for i, a := range c.Args {
		switch s.of(a) {
		case theLease:
			if c.IsInvoke() && handles.TakesBack(c.Method, a.Type()) {
				f.release(call, s)
				return
			}
			f.hand(call, i, s)
		case theError:
			if !understands(call) {
				s.consulted = true
			}
		}
	}
}

// handled is a method call on the lease.
func (f *follower) handled(call ssa.CallInstruction, v handles.Verb, s *pathState) {
	switch v {
	case handles.VerbRelease:
		f.release(call, s)
	case handles.VerbUse, handles.VerbExtend:
		if m, ok := ssax.MethodOf(call.Common()); ok && handles.IsTokenName(m.Obj.Name()) && call.Value() != nil &&
			!ssax.Unused(call.Value()) {
			s.Lease = escaped // whoever gets the token may release
			return
		}
		if s.verdict == unasked && (s.Lease == unchecked || s.Lease == released && !s.over) && !s.consulted && !s.only {
			f.flow.Hasty[call] = true
		}
	case handles.VerbLock:
		if s.Lease != Absent || s.verdict != unasked { // before the acquire, another one is that one's business
			s.Lease = escaped
		}
	default:
		s.Lease = escaped
	}
}

// hand gives the lease to a function as its i-th argument.
func (f *follower) hand(call ssa.CallInstruction, i int, s *pathState) {
	fn := call.Common().StaticCallee()
	at := fateUnknown
	if fn != nil && fn.Parent() == nil {
		at = f.li.FactOf(fn).Params[i]
	} else if lit := ssax.Literal(call.Common()); lit != nil && len(lit.FreeVars) == 0 {
		at = followParam(f.li, lit, lit.Params[i])
	}
	switch at {
	case fateReleased, fateGuarded:
		f.release(call, s)
	case fateBorrowed:
	default:
		s.Lease = escaped
	}
}

// release ends the life of the lease on this path, or makes sure that it will end. Of what was not acquired it is
// harmless for leases, which are nil-safe, but not for the locks of every library.
func (f *follower) release(call ssa.CallInstruction, s *pathState) {
	if s.Lease == escaped {
		f.flow.Released = f.flow.Released || s.over
		return
	}
	d, deferred := call.(*ssa.Defer)
	f.flow.Released = true
	f.flow.Releases[call] = f.flow.Releases[call] || deferred || f.ending > 0
	s.Lease = released
	if deferred {
		s.deferred = d
		return
	}
	if s.verdict == refused && !f.spare() && !f.li.isHarmless(f.site, call.Common()) {
		f.flow.Undue[call] = true
	}
	s.over, s.deferred = true, nil
}

// understands reports whether a function only looks at an error, in ways that the analysis follows or that decide
// nothing.
func understands(call ssa.CallInstruction) bool {
	if plain, ok := call.(*ssa.Call); ok {
		if _, made := ssax.MadeOf(plain); made {
			return true
		}
	}
	m, ok := ssax.MethodOf(call.Common())
	if !ok || m.Obj.Pkg() == nil {
		return false
	}
	switch m.Obj.Pkg().Path() {
	case "errors", "fmt", "log", "log/slog", "testing":
		return true
	}
	return false
}

// deferred handles a defer statement. A deferred release is certain from here on; a deferred literal is kept until
// the function returns, because it sees its variables as they are then. What it is given it has got by now.
func (f *follower) deferred(d *ssa.Defer, s *pathState) {
	if lit := ssax.Literal(d.Common()); lit != nil {
		for i, a := range d.Call.Args {
			s.set(lit.Params[i], s.of(a))
		}
		if !slices.Contains(s.defers, d) {
			s.defers = append(s.defers, d)
		}
		return
	}
	f.pass(d, s)
}

// runDefers runs what a path has deferred, the last literal first.
func (f *follower) runDefers(s pathState) []pathState {
	if s.deferred != nil {
		if s.verdict == refused && !f.spare() && !f.li.isHarmless(f.site, &s.deferred.Call) {
			f.flow.Undue[s.deferred] = true
		}
		s.over, s.deferred = true, nil
	}
	pending := s.defers
	s.defers = nil
	states := []pathState{s}
	f.ending++
	defer func() { f.ending-- }()
	for _, d := range slices.Backward(pending) {
		var next []pathState
		for _, s := range states {
			f.ended(d, &s)
			next = append(next, f.inline(ssax.Literal(d.Common()), s)...)
		}
		states = next
	}
	return states
}

// spare reports whether what is released where there is no lease is a function that does nothing.
func (f *follower) spare() bool { return f.site != nil && f.site.Spare }
