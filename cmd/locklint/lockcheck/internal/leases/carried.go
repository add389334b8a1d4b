package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows the acquire's error into other errors that are made of it, and into what is found in it.

// carried is what an error says of the acquire that a call makes of others, which is nil only where all of them are: the
// same as the acquire's own, if no other may be there.
func (f *follower) carried(s *pathState, call *ssa.Call) abstract {
	list, ok := ssax.MadeOf(call)
	if !ok || !slices.ContainsFunc(list, func(e ssa.Value) bool { return s.of(e) == theError }) {
		return unknown
	}
	for _, e := range list {
		if a := s.of(e); a != theError && a != isNil {
			return unknown
		}
	}
	return theError
}

// finds says what a result of a look into an error is: errors.AsType and an assertion of a type find nothing in no error.
func (f *follower) finds(s *pathState, ex *ssa.Extract) abstract {
	if ex.Index != 1 || !ssax.IsBool(ex.Type()) {
		return unknown
	}
	switch look := ex.Tuple.(type) {
	case *ssa.TypeAssert:
		if s.of(look.X) == theError {
			return failedIfTrue
		}
	case *ssa.Call:
		if ssax.IsAsType(look) && isErrorTest(s, look) {
			return failedIfTrue
		}
	}
	return unknown
}

// saysNotExtended reports whether an error is that of the try to prolong a lock of redsync: it comes only where the lock
// could not be prolonged. The libraries that have no other answer than the error say with it that they do not know, too.
func (f *follower) saysNotExtended(s *pathState, err ssa.Value) bool {
	call := callOf(err)
	if call == nil || !ssax.IsError(err.Type()) || f.site == nil || f.site.Library != clients.Redsync ||
		!f.asksIfHeld(s, call) {
		return false
	}
	m, ok := ssax.MethodOf(&call.Call)
	return ok && f.li.VerbOf(&call.Call, m.Recv) == handles.VerbExtend
}
