package leases

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some types of a program keep no lock but its methods:
//
//	type guard struct{ acquire func() error; release func() (bool, error) }
//
//	func newGuard(m *redsync.Mutex) *guard { return &guard{m.Lock, m.Unlock} }
//
// A call of such a field does with the object what the method does with the lock. The field must be one that only this
// package can set, and be set to the same method of the same library everywhere.

// findFields looks for such fields.
func (li *Info) findFields() {
	for _, fn := range li.P.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				if field, ok := instr.(*ssa.FieldAddr); ok {
					li.noteField(field)
				}
			}
		}
	}
}

// noteField learns from one place that mentions a field.
func (li *Info) noteField(addr *ssa.FieldAddr) {
	field := fieldVar(addr)
	if field == nil || token.IsExported(field.Name()) {
		return
	}
	if _, ok := field.Type().Underlying().(*types.Signature); !ok {
		return
	}
	for _, use := range *addr.Referrers() {
		switch use := use.(type) {
		case *ssa.UnOp, *ssa.DebugRef:
		case *ssa.Store:
			if use.Addr == ssa.Value(addr) && ssax.IsNilConst(use.Val) {
				continue
			}
			v := boundVerb(use.Val)
			if old, known := li.fields[field]; use.Addr != ssa.Value(addr) || known && old != v {
				v = ownVerb{}
			}
			li.fields[field] = v
		default:
			li.fields[field] = ownVerb{}
		}
	}
}

// boundVerb is what a method value does with the lock of a library that it is bound to.
func boundVerb(v ssa.Value) ownVerb {
	method, recv, ok := ssax.BoundMethod(v)
	if !ok || !clients.IsKept(handles.Library(recv.Type())) {
		return ownVerb{}
	}
	return ownVerb{verb: handles.VerbByName(method.Name()), library: handles.Library(recv.Type())}
}

// fieldVar is the field that an address is that of.
func fieldVar(addr *ssa.FieldAddr) *types.Var {
	st, ok := ssax.Elem(addr.X.Type()).Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	return st.Field(addr.Field).Origin()
}

// fieldCall is the address of the field that a call calls, and what that does with the object it belongs to.
func (li *Info) fieldCall(c *ssa.CallCommon) (addr *ssa.FieldAddr, v ownVerb) {
	if c.IsInvoke() {
		return nil, v
	}
	load, ok := c.Value.(*ssa.UnOp)
	if !ok {
		return nil, v
	}
	if addr, ok = load.X.(*ssa.FieldAddr); !ok {
		return nil, v
	}
	if v = li.fields[fieldVar(addr)]; v.verb == handles.VerbOther {
		return nil, v
	}
	return addr, v
}

// fieldSite describes a call of a field that locks.
func (li *Info) fieldSite(call *ssa.Call) *Site {
	addr, v := li.fieldCall(&call.Call)
	if addr == nil || v.verb != handles.VerbLock {
		return nil
	}
	site := &Site{Call: call, Name: ssax.FieldNameOnly(addr), Library: v.library, Lease: -1, Err: -1, OK: -1, Recv: addr.X,
		field: ssax.FieldName(addr.X.Type(), addr.Field)}
	site.findOutcome()
	switch {
	case v.library == clients.GoZero:
		site.Both, site.Spare = true, true
	case clients.IsCoordinator(v.library):
		li.endsWithSession(site)
	}
	return site
}
