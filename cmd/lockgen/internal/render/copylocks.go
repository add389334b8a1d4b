package render

import (
	"go/token"
	"go/types"
)

// holdsLock tells whether a result holds a mutex, or something else that go vet does not want to be copied. It takes a
// return statement that mentions such a result for a copy.
func (w *wrapper) holdsLock() bool {
	for _, e := range w.resultTypes() {
		if holdsLock(w.Info.TypeOf(e), map[types.Type]bool{}) {
			return true
		}
	}
	return false
}

// locker is what go vet looks for: a pointer to a value that may not be copied has these methods.
var locker = func() *types.Interface {
	plain := types.NewSignatureType(nil, nil, nil, nil, nil, false)
	return types.NewInterfaceType([]*types.Func{types.NewFunc(token.NoPos, nil, "Lock", plain),
		types.NewFunc(token.NoPos, nil, "Unlock", plain)}, nil).Complete()
}()

func holdsLock(t types.Type, seen map[types.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsLock(u.Elem(), seen)
	case *types.Struct:
		if types.Implements(types.NewPointer(t), locker) && !types.Implements(t, locker) {
			return true
		}
		for field := range u.Fields() {
			if holdsLock(field.Type(), seen) {
				return true
			}
		}
	}
	return false
}
