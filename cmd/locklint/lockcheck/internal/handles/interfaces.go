package handles

import (
	"go/types"
	"regexp"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
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

// MakesMutex reports whether a result of a method of an interface is a new lock that nobody has locked yet, as that of
// NewMutex(key string) (Mutex, error) is.
func MakesMutex(m *types.Func, result int) bool {
	return makesMutex.MatchString(m.Name()) && StandsForMutex(m.Signature().Results().At(result).Type())
}

var makesMutex = regexp.MustCompile(`^New\w*(?:Mutex|Lock)$`)

// StandsForLease reports whether a type is an interface for a lock that is held, as a *redislock.Lock is: it says so by its
// name, or can be made to last longer; it is released with a context, which may fail, and does not lock.
func StandsForLease(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	says, releases := typeOfLeases.MatchString(nameOf(t)), false
	for m := range iface.Methods() {
		params := m.Signature().Params()
		says = says || VerbByName(m.Name()) == VerbExtend && params.Len() == 2 && ssax.IsContext(params.At(0).Type()) &&
			ssax.IsDuration(params.At(1).Type())
		switch VerbByName(m.Name()) {
		case VerbLock:
			return false
		case VerbRelease:
			sig := m.Signature()
			if sig.Params().Len() != 1 || !ssax.IsContext(sig.Params().At(0).Type()) || !mayFail(sig) {
				return false
			}
			releases = true
		}
	}
	return says && releases
}

// HandsOutLease reports whether a method of an interface acquires a lock and returns what stands for it, and an error, also
// with a flag between the two. What implements it need not be in sight.
func HandsOutLease(m *types.Func) bool {
	sig := m.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) || !keyedAcquire.MatchString(m.Name()) {
		return false
	}
	params, results := sig.Params(), sig.Results()
	n := results.Len()
	return params.Len() > 1 && ssax.IsContext(params.At(0).Type()) &&
		(n == 2 || n == 3 && ssax.IsBool(results.At(1).Type())) && StandsForLease(results.At(0).Type()) &&
		ssax.IsError(results.At(n-1).Type())
}

// HidesObtain reports whether a method of an interface is that of redislock, which the program has put behind it for its
// tests.
func HidesObtain(m *types.Func) bool {
	sig := m.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) || m.Name() != "Obtain" && m.Name() != "ObtainMulti" {
		return false
	}
	results := sig.Results()
	return results.Len() == 2 && Library(results.At(0).Type()) == clients.Redislock && ssax.IsError(results.At(1).Type())
}

// IsPort reports whether a type is an interface by which programs use locks whose implementation need not be in sight.
func IsPort(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range iface.Methods() {
		if HandsOutLease(m) || HandsOutRelease(m) || HandsOutHeld(m) {
			return true
		}
	}
	keyed := keyedVerbs(t, iface) != nil
	return keyed || StandsForMutex(t) || StandsForLease(t)
}

// nameOf is a type without its package.
func nameOf(t types.Type) string {
	return types.TypeString(t, func(*types.Package) string { return "" })
}

// mayFail reports whether a function says last whether it has failed or done nothing.
func mayFail(sig *types.Signature) bool {
	results := sig.Results()
	if results.Len() == 0 {
		return false
	}
	last := results.At(results.Len() - 1).Type()
	return ssax.IsError(last) || ssax.IsBool(last)
}

// HandsOutRelease reports whether a method of an interface acquires a lock, of which it or its interface speaks, and returns
// the function that releases it, which is given a context, and an error. What implements it need not be in sight.
func HandsOutRelease(m *types.Func) bool {
	sig := m.Signature()
	if sig.Recv() == nil || !types.IsInterface(sig.Recv().Type()) || !keyedAcquire.MatchString(m.Name()) ||
		!typeOfLocks.MatchString(nameOf(sig.Recv().Type())) && !keyedLock.MatchString(m.Name()) || !takesKey(sig) {
		return false
	}
	release, ok := sig.Results().At(0).Type().Underlying().(*types.Signature)
	return ok && release.Params().Len() == 1 && ssax.IsContext(release.Params().At(0).Type())
}
