package leases

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs make the objects of their own that they lock on the spot as well as by a function:
//
//	l := &Lock{mu: rs.NewMutex("x")}
//	if err := l.Lock(ctx); err != nil { … }
//
// This file knows which of them have a lock that nobody else can reach.

// isLocked reports whether a type is that of a mutex, or of an object of the program's own that is locked as one is.
func (li *Info) isLocked(t types.Type) bool {
	library := li.libraryOf(t)
	keeps := clients.IsPeer(library) && library != clients.ByHand
	return clients.HasMutex(library) || keeps && handles.Library(t) == clients.None
}

// isFresh reports whether a struct is an object to lock that is made around a mutex that nobody else has, or around
// none: then it makes the mutex when it is locked, or keeps what it gets. What ends with a session has its mutex first.
func (li *Info) isFresh(made *ssa.Alloc) bool {
	if li.wrappers == nil || !li.isLocked(made.Type()) && !holds(made.Type()) {
		return false
	}
	wraps := false
	for _, use := range *made.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Addr == ssa.Value(made) && !li.isNew(use.Val) && !li.isFreshCopy(use.Val) {
				return false
			}
			wraps = wraps || use.Addr == ssa.Value(made)
		case *ssa.FieldAddr:
			if !li.reachesLock(ssax.Elem(use.Type()), 0) {
				break
			}
			for _, at := range *use.Referrers() {
				st, ok := at.(*ssa.Store)
				if ok && (st.Addr != ssa.Value(use) || !li.isFreshPart(st.Val)) || !ok && !isLoad(at) {
					return false
				}
				wraps = wraps || ok && !ssax.IsNilConst(st.Val)
			}
		}
	}
	return wraps || li.isLocked(made.Type()) && !clients.IsCoordinator(li.libraryOf(made.Type()))
}

// isFreshPart reports whether a value that goes into a field is a lock that nobody else has.
func (li *Info) isFreshPart(v ssa.Value) bool {
	if iface, ok := v.(*ssa.MakeInterface); ok {
		v = iface.X
	}
	switch part := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.Alloc:
		return li.isFresh(part) && len(usesBesidesFields(part)) == 1
	}
	return li.isNew(v) && len(usesBesides(v)) == 1
}

// isFreshCopy reports whether a value is a literal as a whole that goes into a variable, and nowhere else.
func (li *Info) isFreshCopy(v ssa.Value) bool {
	whole, ok := v.(*ssa.UnOp)
	if !ok || len(usesBesides(whole)) != 1 {
		return false
	}
	literal, ok := whole.X.(*ssa.Alloc)
	return ok && li.isFresh(literal) && len(usesBesidesFields(literal)) == 1
}

// usesBesidesFields are the uses of a struct other than that its fields are set.
func usesBesidesFields(made *ssa.Alloc) []ssa.Instruction {
	return slices.DeleteFunc(usesBesides(made), func(use ssa.Instruction) bool {
		field, ok := use.(*ssa.FieldAddr)
		return ok && onlySet(field)
	})
}

// usesBesides are the uses of a value besides those for debuggers.
func usesBesides(v ssa.Value) []ssa.Instruction {
	return slices.DeleteFunc(slices.Clone(*v.Referrers()), func(use ssa.Instruction) bool {
		_, debug := use.(*ssa.DebugRef)
		return debug
	})
}

// isLoad reports whether an instruction only reads what is at an address.
func isLoad(instr ssa.Instruction) bool {
	switch instr.(type) {
	case *ssa.UnOp, *ssa.DebugRef:
		return true
	}
	return false
}

// onlySet reports whether a field is set by an address, and nothing else is done with that.
func onlySet(field *ssa.FieldAddr) bool {
	return !slices.ContainsFunc(usesBesides(field), func(use ssa.Instruction) bool {
		st, ok := use.(*ssa.Store)
		return !ok || st.Addr != ssa.Value(field)
	})
}

// setsFresh reports whether a field is given a lock that nobody else has, and nothing else is done with its address.
func (li *Info) setsFresh(field *ssa.FieldAddr) bool {
	return onlySet(field) && !slices.ContainsFunc(usesBesides(field), func(use ssa.Instruction) bool {
		return !li.isFreshPart(use.(*ssa.Store).Val)
	})
}

// reachesLock reports whether who has a value of a type has a lock, by the fields of structs and what is in lists and
// maps.
func (li *Info) reachesLock(t types.Type, depth int) bool {
	if depth > ssax.MaxDepth {
		return true
	}
	if li.libraryOf(t) != clients.None {
		return true
	}
	if named, ok := types.Unalias(t).(*types.Named); ok && clients.OfPackage(named.Obj().Pkg()) != clients.None {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Pointer:
		return li.reachesLock(t.Elem(), depth+1)
	case *types.Slice:
		return li.reachesLock(t.Elem(), depth+1)
	case *types.Array:
		return li.reachesLock(t.Elem(), depth+1)
	case *types.Map:
		return li.reachesLock(t.Elem(), depth+1)
	case *types.Struct:
		for f := range t.Fields() {
			if li.reachesLock(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

// bornAs is the object that a function makes and locks, as it is or as it goes into an interface, nil for others.
func (li *Info) bornAs(locked ssa.Value) ssa.Value {
	switch as := locked.(type) {
	case *ssa.MakeInterface:
		locked = as.X
	case *ssa.UnOp:
		locked = ssax.SoleValue(ssax.CellOf(as.X)) // the method has a struct for its receiver
	}
	if made, ok := locked.(*ssa.Alloc); ok && li.isFresh(made) {
		return made
	}
	return nil
}
