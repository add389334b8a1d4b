package directive

import (
	"go/types"
	"strings"
)

const lockerType = "*lockrt.Locker"

func isLocker(t types.Type) bool { return t != nil && isPointerTo(t, RuntimePath, "Locker") }

// locker finds where the wrapper gets its locker: what locker= says, else the receiver's only field of that type, else
// the only parameter, else the variable that the package has as a default, else a new parameter.
func (b *binder) locker() {
	if b.d.Locker != nil {
		b.pathTo("locker", b.d.Locker, &b.f.Locker, isLocker, lockerType).resolve()
		return
	}
	if b.fieldLocker() {
		return
	}
	var found []int
	for i, p := range b.f.Params {
		if isLocker(b.types[p]) {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 0:
		b.f.Locker = Source{From: FromNewParam}
		if d := b.d.Defaults; d != nil && d.Options.Locker != nil {
			b.pathTo("locker", d.Options.Locker, &b.f.Locker, isLocker, lockerType).resolveInPackage()
		}
		return
	case 1:
	default:
		b.whole("locker", "%s has %d parameters of type %s: choose one with locker=", b.fn(), len(found), lockerType)
	}
	b.f.Locker = Source{From: FromParam, Param: found[0]}
}

// fieldLocker looks for the locker in the receiver.
func (b *binder) fieldLocker() bool {
	if b.f.Recv == nil {
		return false
	}
	named := b.receiverNamed()
	if named == nil {
		b.f.NeedsTypes = true // the receiver may have a locker
		return false
	}
	var found [][]string
	b.lockerFields(named, nil, map[types.Type]bool{}, &found)
	if len(found) == 0 {
		return false
	}
	if len(found) > 1 {
		var names []string
		for _, path := range found {
			names = append(names, b.recvName()+"."+strings.Join(path, "."))
		}
		b.whole("locker", "%s has %d fields of type %s: choose one with locker=%s", b.f.RecvType, len(found), lockerType,
			oneOf(names))
	}
	b.f.Locker = Source{From: FromReceiver, Fields: found[0]}
	return true
}

func (b *binder) recvName() string {
	if b.f.Recv != nil && b.f.Recv.Name != "" {
		return b.f.Recv.Name
	}
	return "receiver"
}

// lockerFields collects the paths to all lockers of a struct, also through embedded structs. A field that this package
// cannot name is none.
func (b *binder) lockerFields(t types.Type, path []string, seen map[types.Type]bool, found *[][]string) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || seen[t] {
		return
	}
	seen[t] = true
	for field := range s.Fields() {
		if !b.canName(field) {
			continue
		}
		here := append(path[:len(path):len(path)], field.Name())
		if isLocker(field.Type()) {
			*found = append(*found, here)
			continue
		}
		b.f.NeedsTypes = b.f.NeedsTypes || unknown(field.Type()) // it may be a locker under another name
		if field.Embedded() {
			b.lockerFields(field.Type(), here, seen, found)
		}
	}
}
