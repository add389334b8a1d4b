package leases

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A Replaced is a pair of methods that keep locks in a map under their keys: who acquires a key again, once the lock has
// expired, replaces the lock of the one before, who then releases that of the next.
type Replaced struct {
	Acquire *ssa.Call
	Release ssa.CallInstruction
}

// FindReplaced finds those of the package. The acquiring method puts a new lock into the map without looking whether there
// is one, and nothing in the package prolongs a lock, or keeps others of the process out meanwhile.
func (li *Info) FindReplaced() []Replaced {
	acquires := map[string]*ssa.Call{} // by field
	for _, fn := range li.P.Funcs {
		obj := methodOf(fn)
		if obj == nil || li.verbs[obj].verb != handles.VerbLock || !li.verbs[obj].keyed {
			continue
		}
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			acquire, ok := call.(*ssa.Call)
			if !ok {
				return
			}
			site := li.directSite(acquire)
			if site == nil || !clients.IsKept(site.Library) || clients.IsCoordinator(site.Library) {
				return
			}
			field := keptIn(site)
			if field != "" && isRegistry(fn, field) && !asksEntry(fn, field) && !staysLocked(fn) {
				acquires[field] = acquire
			}
		})
	}
	if len(acquires) == 0 {
		return nil
	}
	var found []Replaced
	prolonged := false
	for _, fn := range li.P.Funcs {
		ssax.EachCall(fn, func(call ssa.CallInstruction) {
			handle := li.HandleOf(call.Common())
			if handle == nil {
				return
			}
			verb := li.VerbOf(call.Common(), handle)
			prolonged = prolonged || verb == handles.VerbExtend
			obj := methodOf(fn)
			if verb != handles.VerbRelease || obj == nil || li.verbs[obj].verb != handles.VerbRelease {
				return
			}
			if acquire := acquires[entryOf(handle)]; acquire != nil && len(keysOf(fn)) == 1 && len(keysOf(acquire.Parent())) == 1 {
				found = append(found, Replaced{acquire, call})
			}
		})
	}
	if prolonged {
		return nil
	}
	return found
}

// keysOf are the parameters of a method that are texts: the key, and whatever may tell one holder from another.
func keysOf(fn *ssa.Function) (keys []*ssa.Parameter) {
	for _, p := range fn.Params[1:] {
		if ssax.IsString(p.Type()) {
			keys = append(keys, p)
		}
	}
	return keys
}

// asksEntry reports whether a function reads the map in a field of its receiver.
func asksEntry(fn *ssa.Function, field string) bool {
	found := false
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.Lookup:
			found = found || receiverField(instr.X) == field
		case *ssa.Call:
			found = found || syncMap(&instr.Call, "Load", "LoadOrStore", "LoadAndDelete", "Swap", "CompareAndSwap") == field
		}
	})
	return found
}

// staysLocked reports whether a function locks a mutex of the process, or fills a channel, and does not undo that on its
// good way: nobody else of the process comes by then.
func staysLocked(fn *ssa.Function) bool {
	locks, unlocks := false, false
	ssax.EachInstr(fn, func(instr ssa.Instruction) {
		switch instr := instr.(type) {
		case *ssa.Send:
			locks = true
		case ssa.CallInstruction:
			m, ok := ssax.MethodOf(instr.Common())
			if !ok || m.Recv == nil || !isSync(m.Obj) {
				return
			}
			switch m.Obj.Name() {
			case "Lock", "TryLock":
				locks = true
			case "Unlock":
				unlocks = unlocks || !ssax.UndoesFailure(instr)
			}
		}
	})
	return locks && !unlocks
}

func isSync(fn *types.Func) bool { return fn.Pkg() != nil && fn.Pkg().Path() == "sync" }
