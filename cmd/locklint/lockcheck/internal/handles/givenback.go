package handles

import (
	"go/types"
	"regexp"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// HandsOutHeld reports whether a method of an interface acquires a lock by its key and returns a value of the program's own
// that stands for it, which another method of the interface takes back:
//
//	Lock(ctx context.Context, key string) (*Lock, error)
//	Unlock(ctx context.Context, lock *Lock) error
//
// What implements it need not be in sight.
func HandsOutHeld(m *types.Func) bool {
	sig := m.Signature()
	if sig.Recv() == nil || !takesHeld.MatchString(m.Name()) || asksHeld.MatchString(m.Name()) || !takesKey(sig) {
		return false
	}
	iface, ok := sig.Recv().Type().Underlying().(*types.Interface)
	results := sig.Results()
	if !ok || results.Len() != 2 || !ssax.IsError(results.At(1).Type()) || !isHeld(results.At(0).Type()) {
		return false
	}
	for other := range iface.Methods() {
		if TakesBack(other, results.At(0).Type()) {
			return true
		}
	}
	return false
}

// TakesBack reports whether a method of an interface releases a lock that it is given as a value of a type.
func TakesBack(m *types.Func, t types.Type) bool {
	sig := m.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) || !IsReleaseName(m.Name()) {
		return false
	}
	params := sig.Params()
	return params.Len() == 2 && ssax.IsContext(params.At(0).Type()) && types.Identical(params.At(1).Type(), t) && isHeld(t)
}

// isHeld reports whether a type of the program says that its values are locks.
func isHeld(t types.Type) bool {
	if Library(t) != clients.None {
		return false
	}
	_, pointer := types.Unalias(t).(*types.Pointer)
	return (pointer || types.IsInterface(t)) && heldType.MatchString(nameOf(t))
}

var (
	takesHeld = regexp.MustCompile(`^(?:Try|WaitTo|WaitFor|Wait|Must)?(?:Lock|Acquire|Obtain)`)
	asksHeld  = regexp.MustCompile(`(?i)status|info|owner|holder|count|exist`)
	heldType  = regexp.MustCompile(`(?i)(?:^|[^bc])(?:lock|mutex|lease)$`)
)
