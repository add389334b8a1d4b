package leases

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows how locks are held: alone, to read together with others, or by a permit.

// A Kind is how a lock is held.
type Kind uint8

const (
	Writes  Kind = iota // alone
	Reads               // together with other readers
	Permits             // together with a number of others
	Unknown             // decided elsewhere
)

// String says what is done with a lock of this kind.
func (k Kind) String() string {
	switch k {
	case Reads:
		return "reads"
	case Permits:
		return "holds a permit of"
	}
	return "writes"
}

// A request is a key that a call takes, with the kind of its lock.
type request struct {
	key     ssa.Value
	kind    Kind
	permits ssa.Value // nil for none
}

// A taking is a call of the runtime that takes locks.
type taking struct {
	locker, options ssa.Value
	requests        []request // nil if nobody knows
}

// takingOf reads a call of the runtime. It is false for other calls.
func (li *Info) takingOf(m ssax.Method) (taking, bool) {
	name, t, key := m.Obj.Name(), taking{locker: m.Recv}, ssa.Value(nil)
	switch {
	case clients.IsDoTx(m.Obj):
		name = strings.TrimSuffix(name, "Tx")
		t.locker, key, t.options = m.Arg(0), m.Arg(1), m.Arg(2)
	case clients.OfPackage(m.Obj.Pkg()) == clients.Runtime && m.Recv != nil &&
		clients.Named(m.Recv.Type(), clients.Runtime) == "Locker" && slices.Contains(takers, name):
		key, t.options = m.Arg(0), m.Arg(1)
	default:
		return t, false
	}
	if strings.HasSuffix(name, "Each") {
		t.requests = eachRequest(key)
		return t, true
	}
	keys := []ssa.Value{key}
	if strings.HasSuffix(name, "All") {
		keys, _ = ssax.Variadic(key)
	}
	kind, permits := li.kindOf(t.options)
	for _, k := range keys {
		t.requests = append(t.requests, request{k, kind, permits})
	}
	return t, true
}

// takers are the methods of a Locker that take locks.
var takers = []string{"Acquire", "TryAcquire", "AcquireAll", "AcquireEach", "Do", "DoAll", "DoEach"}

// kindOf is the kind that options ask for, and the permits.
func (li *Info) kindOf(options ssa.Value) (Kind, ssa.Value) {
	mode, known := li.P.OptionOf(options, "Mode")
	permits, also := li.P.OptionOf(options, "Permits")
	if !known || !also {
		return Unknown, nil
	}
	return kindFrom(mode, permits), permits
}

// kindFrom is the kind of a mode and a number of permits. Nil is the zero value.
func kindFrom(mode, permits ssa.Value) Kind {
	switch m := number(mode); {
	case m < 0:
		return Unknown
	case number(permits) != 0:
		return Permits // also a number that is decided elsewhere
	case m == 1:
		return Reads
	}
	return Writes
}

// number is a constant, 0 for nil and -1 if it is none.
func number(v ssa.Value) int {
	if v == nil {
		return 0
	}
	return ssax.IntOf(v)
}

// eachRequest reads the KeyOptions that a call lists.
func eachRequest(list ssa.Value) []request {
	elems, _ := ssax.Variadic(list)
	var all []request
	for _, e := range elems {
		key, known := ssax.LiteralField(e, "Key")
		if !known || key == nil {
			return nil
		}
		mode, _ := ssax.LiteralField(e, "Mode")
		permits, _ := ssax.LiteralField(e, "Permits")
		all = append(all, request{key, kindFrom(mode, permits), permits})
	}
	return all
}

// Kinds are those of the locks that a call of the runtime takes, nil if somebody else decides on one of them.
func (li *Info) Kinds(call *ssa.Call) []Kind {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return nil
	}
	t, ok := li.takingOf(m)
	if !ok {
		return nil
	}
	var kinds []Kind
	for _, r := range t.requests {
		if r.kind == Unknown {
			return nil
		}
		kinds = append(kinds, r.kind)
	}
	return kinds
}

// A ConstantKey is a key whose text is known, with the permits that it is taken with.
type ConstantKey struct {
	Text    string
	Permits int
}

// ConstantKeys are the keys of a call of the runtime whose text and permits are written out.
func (li *Info) ConstantKeys(call *ssa.Call) []ConstantKey {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return nil
	}
	t, _ := li.takingOf(m)
	var list []ConstantKey
	for _, r := range t.requests {
		text, ok := ssax.ConstString(r.key)
		if permits := number(r.permits); ok && r.kind != Unknown && permits >= 0 {
			list = append(list, ConstantKey{text, permits})
		}
	}
	return list
}
