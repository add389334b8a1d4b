package handles

import (
	"go/types"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// StandsForMutex reports whether a type is an interface for a lock that lives elsewhere, as a *redsync.Mutex does: it is
// locked and unlocked with a context, and both may fail. What implements it need not be in sight, since where a program
// declares such interfaces apart from what is behind them, no package imports both.
func StandsForMutex(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	locks, unlocks := false, false
	for m := range iface.Methods() {
		sig := m.Signature()
		if sig.Params().Len() != 1 || !ssax.IsContext(sig.Params().At(0).Type()) || sig.Variadic() {
			continue
		}
		results := sig.Results()
		fails := results.Len() == 1 && ssax.IsError(results.At(0).Type())
		tells := results.Len() == 2 && ssax.IsBool(results.At(0).Type()) && ssax.IsError(results.At(1).Type())
		switch m.Name() {
		case "Lock", "LockContext":
			locks = fails
		case "Unlock", "UnLock", "UnlockContext":
			unlocks = fails || tells
		}
	}
	return locks && unlocks
}
