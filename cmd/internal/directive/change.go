package directive

import "go/types"

// KeysChange tells whether the keys of a job may change after it is registered, so that they are built before each run:
// they read something behind a pointer, or a method. Pointer says that the receiver is one where the job is registered.
// Values that are handed over there stay as they are.
func (f *Func) KeysChange(pointer bool) bool {
	for _, key := range f.Keys {
		for _, part := range key.Parts {
			if part.Value != nil && !part.Value.fixed(pointer) {
				return true
			}
		}
	}
	return false
}

func (v *Value) fixed(pointer bool) bool {
	if v.Deref || v.Addr || v.From == FromReceiver && pointer {
		return false
	}
	for _, step := range v.Steps {
		if step.Pointer {
			return false
		}
	}
	switch v.Kind {
	case KindText, KindStringer:
		return false
	case KindLen:
		return hasFixedLen(v.Type)
	}
	return true
}

// hasFixedLen tells whether the length of a value is a part of it.
func hasFixedLen(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Basic, *types.Slice, *types.Array:
		return true
	}
	return false
}
