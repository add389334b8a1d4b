package rediscmd

import (
	"go/types"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// HasSetNX reports whether a type is an interface with a method SetNX whose first argument after the context is a string,
// or with one that says the same in words, is given a time to live and tells whether the key was set.
func HasSetNX(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range iface.Methods() {
		switch m.Name() {
		case "SetNX":
			return afterContext(m.Signature(), 1)
		case "SetNx", "SetIfNotExists", "SetIfNotExist", "SetIfAbsent":
			return afterContext(m.Signature(), 3) && returnsSet(m.Signature().Results())
		}
	}
	return false
}

// afterContext reports whether a function is given a text first, behind its context, and so many arguments in all.
func afterContext(sig *types.Signature, n int) bool {
	params := sig.Params()
	i := 0
	if params.Len() > 0 && ssax.IsContext(params.At(0).Type()) {
		i = 1
	}
	return params.Len() >= i+n && ssax.IsString(params.At(i).Type())
}
