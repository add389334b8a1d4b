package ll2003

import (
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/locks"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// ofKept reports whether the value of an acquire is a field of an object that is made with it, kept in a map, and handed
// out again to whoever asks for the same lock: all of them have its token.
func ofKept(ix *index.Index, a *rediscmd.Command) bool {
	if a.Value.Op != keyexpr.Field || a.Value.Args[0].String() != receiver.String() {
		return false
	}
	kept := 0
	for _, fn := range ix.Shipped {
		if len(locks.StoredBy(fn, a.Value.Text)) == 0 {
			continue
		}
		if ssax.ReceiverName(fn) == ssax.ReceiverName(a.Fn) || !handsOutAgain(fn, ssax.ReceiverName(a.Fn)) {
			return false
		}
		for _, c := range ix.Commands[fn] {
			if c.Root() == a.Root() {
				return false // the object is made for this acquire
			}
		}
		kept++
	}
	return kept > 0
}

// handsOutAgain reports whether a function puts an object of a type into a map and returns one that it finds there.
func handsOutAgain(fn *ssa.Function, name string) bool {
	puts, returns := false, false
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.MapUpdate:
			puts = puts || ssax.FullTypeName(instr.Value.Type()) == name
		case *ssa.Lookup:
			returns = returns || isReturned(instr, name)
		}
	})
	return puts && returns
}

// isReturned reports whether an object of a type that is found in a map goes to where the results of the function are.
func isReturned(found ssa.Value, name string) bool {
	for _, use := range *found.Referrers() {
		switch use := use.(type) {
		case *ssa.Extract:
			if isReturned(use, name) {
				return true
			}
		case *ssa.Return:
			if ssax.FullTypeName(found.Type()) == name {
				return true
			}
		case *ssa.Store: // a result, in a function that defers something
			if _, ok := use.Addr.(*ssa.Alloc); ok && ssax.FullTypeName(found.Type()) == name {
				return true
			}
		}
	}
	return false
}
