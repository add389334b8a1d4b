package lockcheck

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// maxDepth bounds literals that call literals.
const maxDepth = 4

// call runs a call: the acquire itself, a method of the lease, a function literal, or a function that may have the
// lease as an argument.
func (f *follower) call(v *visit, call *ssa.Call, s pathState) []pathState {
	if f.site != nil && call == f.site.call && f.depth == 0 {
		if (s.lease == held || s.lease == unchecked && !s.consulted) && len(s.defers) == 0 {
			f.flow.leaks = append(f.flow.leaks, leak{call, v})
		}
		s.acquired()
		if f.site.only {
			s.set(call, theLease)
		}
		return []pathState{s}
	}
	s.set(call, unknown)
	if lit := literal(call.Common()); lit != nil {
		for i, a := range call.Call.Args {
			s.set(lit.Params[i], s.of(a))
		}
		return f.inline(lit, s)
	}
	f.pass(call.Common(), &s)
	return []pathState{s}
}

// literal returns the function literal that is called on the spot.
func literal(c *ssa.CallCommon) *ssa.Function {
	if fn := c.StaticCallee(); fn != nil && fn.Parent() != nil && len(fn.Blocks) > 0 {
		return fn
	}
	return nil
}

// inline runs a function literal from a state; its own defers are its own.
func (f *follower) inline(lit *ssa.Function, s pathState) []pathState {
	if f.depth == maxDepth {
		f.flow.gaveUp = true
		return nil
	}
	outer := s.defers
	s.defers = nil
	f.depth++
	ends := f.run(lit, s)
	f.depth--
	for i := range ends {
		ends[i].defers = slices.Clone(outer)
	}
	return ends
}

// pass hands the arguments of a call over and says what becomes of the lease among them.
func (f *follower) pass(c *ssa.CallCommon, s *pathState) {
	if m, ok := methodOf(c); ok && m.recv != nil && s.of(m.recv) == theLease && leaseMethod(c, m.recv) != "" {
		if m.obj.Name() == "Release" {
			s.release()
			f.flow.released = true
		}
		return
	}
	if c.IsInvoke() && s.of(c.Value) == theLease {
		s.lease = escaped
	}
	for i, a := range c.Args {
		switch s.of(a) {
		case theLease:
			f.hand(c, i, s)
		case theError:
			if !understands(c) {
				s.consulted = true
			}
		}
	}
}

// hand gives the lease to a function as its i-th argument.
func (f *follower) hand(c *ssa.CallCommon, i int, s *pathState) {
	fn := c.StaticCallee()
	at := fateUnknown
	if fn != nil && fn.Parent() == nil {
		at = f.li.factOf(fn).Params[i]
	} else if lit := literal(c); lit != nil && len(lit.FreeVars) == 0 {
		at = followParam(f.li, lit, lit.Params[i])
	}
	switch at {
	case fateReleased:
		s.release()
		f.flow.released = true
	case fateBorrowed:
	default:
		s.lease = escaped
	}
}

// release ends the life of the lease on this path. Releasing what was not acquired is harmless: leases are nil-safe.
func (s *pathState) release() {
	if s.lease != escaped {
		s.lease = released
	}
}

// understands reports whether a function only looks at an error, in ways that the analysis follows or that decide
// nothing.
func understands(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	if !ok || m.obj.Pkg() == nil {
		return false
	}
	switch m.obj.Pkg().Path() {
	case "errors", "fmt", "log", "log/slog", "testing":
		return true
	}
	return false
}

// deferred handles a defer statement. A deferred release is certain from here on; a deferred literal is kept until
// the function returns, because it sees its variables as they are then.
func (f *follower) deferred(d *ssa.Defer, s *pathState) {
	if lit := literal(d.Common()); lit != nil && !slices.ContainsFunc(d.Call.Args, func(a ssa.Value) bool { return s.of(a) == theLease }) {
		if !slices.Contains(s.defers, d) {
			s.defers = append(s.defers, d)
		}
		return
	}
	f.pass(d.Common(), s)
}

// runDefers runs the deferred literals of a path, the last one first.
func (f *follower) runDefers(s pathState) []pathState {
	pending := s.defers
	s.defers = nil
	states := []pathState{s}
	for _, d := range slices.Backward(pending) {
		var next []pathState
		for _, s := range states {
			next = append(next, f.inline(literal(d.Common()), s)...)
		}
		states = next
	}
	return states
}
