package leases

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file knows which functions make a mutex that nobody else has.

// isNew reports whether a value is a mutex that nobody else has: what NewMutex returns, or a function that calls it.
func (li *Info) isNew(v ssa.Value) bool {
	index := 0
	if ex, ok := v.(*ssa.Extract); ok {
		v, index = ex.Tuple, ex.Index
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return false
	}
	if makes := mutexMakers[clients.OfPackage(m.Obj.Pkg())]; makes != nil {
		return index == 0 && slices.Contains(makes, m.Obj.Name())
	}
	if call.Call.IsInvoke() {
		f := li.factOfCallee(&call.Call, m)
		return f != nil && f.Makes == index+1 || handles.MakesMutex(m.Obj, index)
	}
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Parent() == nil && li.FactOf(fn).Makes == index+1
}

// mutexMakers are the functions of the libraries that make a mutex.
var mutexMakers = map[clients.Client][]string{
	clients.Redsync:   {"NewMutex"},
	clients.GoZero:    {"NewRedisLock"},
	clients.Etcd:      {"NewMutex"},
	clients.ZooKeeper: {"NewLock"},
	clients.Consul:    {"LockKey", "LockOpts"},
}

// makes finds the result of a function that is a new mutex, or a new object to lock, whenever it is not nil. 0 for none.
func (li *Info) makes(fn *ssa.Function) int {
	results := fn.Signature.Results()
	for i := range results.Len() {
		if t := results.At(i).Type(); !li.isLocked(t) && !holds(t) || fn.Parent() != nil {
			continue
		}
		made := 0
		for _, b := range fn.Blocks {
			ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
			if !ok {
				continue
			}
			v := ssax.Returned(ret, i)
			if ssax.IsNilConst(v) {
				continue
			}
			if !(li.isNew(v) && onlyReturned(v)) && !li.wrapsNew(v) {
				return 0
			}
			made = i + 1
		}
		return made
	}
	return 0
}

// wrapsNew reports whether a value is a struct of the program's own that is made on the spot around a mutex that nobody
// else has, or for a lock that there is not yet.
func (li *Info) wrapsNew(v ssa.Value) bool {
	if iface, ok := v.(*ssa.MakeInterface); ok {
		v = iface.X
	}
	whole, ok := v.(*ssa.UnOp) // a struct that is no pointer
	if ok {
		v = whole.X
	}
	own, ok := v.(*ssa.Alloc)
	if !ok || !li.isFresh(own) {
		return false
	}
	for _, instr := range *own.Referrers() {
		switch instr := instr.(type) {
		case *ssa.FieldAddr:
			if !onlySet(instr) {
				return false
			}
		case *ssa.UnOp:
			if instr != whole || !onlyReturned(instr) {
				return false
			}
		case *ssa.Return, *ssa.DebugRef, *ssa.MakeInterface:
		default:
			return false
		}
	}
	return true
}

// onlyReturned reports whether nothing is done with a value but to return it.
func onlyReturned(v ssa.Value) bool {
	for _, instr := range *v.Referrers() {
		switch instr.(type) {
		case *ssa.Return, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}
