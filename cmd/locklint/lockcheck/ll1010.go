package lockcheck

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1010 = newCheck("LL1010", "write in a critical section without the fencing token", Warning, false, checkFences)

// checkFences reports writes under a lock that do not say by which fence they are made, where the resource asks for
// one: calls of what is marked //lock:fenced, calls with a constant where a fence belongs, and writes to the tables and
// keys that other code of the package guards. A call in several sections is fine if it has the fence of one of them.
func checkFences(r *reporter) {
	use := r.index.newFenceUse()
	resources := r.guardedResources(use)
	faults := map[ssa.CallInstruction]*critical{}
	fine := map[ssa.CallInstruction]bool{}
	var order []ssa.CallInstruction
	why := map[ssa.CallInstruction]string{}
	for _, s := range r.criticals() {
		if r.index.inTest(s.pos) {
			continue
		}
		for _, call := range s.calls() {
			fault := use.sinkFault(s, call.Common())
			if fault == "" {
				fault = resources.fault(s, call)
			}
			switch {
			case fault == "":
				fine[call] = true
			case faults[call] == nil:
				faults[call], why[call] = s, fault
				order = append(order, call)
			}
		}
	}
	for _, call := range order {
		if fine[call] {
			continue
		}
		s := faults[call]
		pos, end := r.callSpan(call)
		r.report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s writes under the lock from %s at %s, but %s: a holder that was paused until the lock "+
				"went to somebody else writes over what that one has written; hand over the lease's fence",
				r.callText(call), s.name, r.place(s.pos, pos), why[call]),
			Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
		})
	}
}

// sinkFault says what is wrong with a call of a sink in a section, "" if nothing certainly is.
func (u *fenceUse) sinkFault(s *critical, c *ssa.CallCommon) string {
	if clientOfCall(c) == lockRuntime {
		return ""
	}
	marked := u.ix.isFenced(c)
	params := c.Signature().Params()
	first := len(c.Args) - params.Len() // the receiver's place
	for i := range params.Len() {
		if namedIn(params.At(i).Type(), lockRuntime) != "Fence" {
			continue
		}
		arg := c.Args[first+i]
		if _, ok := constOf(throughConversions(arg)); ok {
			return "its fence is a constant"
		}
		if marked && s.isOthersFence(arg) {
			return "its fence is that of another lease"
		}
		return ""
	}
	if !marked || u.guarding(outermost(s.fn)) {
		return ""
	}
	args := c.Args
	if c.IsInvoke() {
		args = append([]ssa.Value{c.Value}, args...)
	}
	for _, a := range args {
		if isContext(a.Type()) && !u.readsContext(c) {
			continue
		}
		if s.mayCarryFence(a, 0) {
			return ""
		}
	}
	return "nothing that it is given tells the fence, and it is marked //lock:fenced"
}

// clientOfCall is the library that a call belongs to.
func clientOfCall(c *ssa.CallCommon) client {
	m, ok := methodOf(c)
	if !ok {
		return notClient
	}
	return clientOfPackage(m.obj.Pkg())
}

// throughConversions is what a value was before it was converted.
func throughConversions(v ssa.Value) ssa.Value {
	for {
		switch x := soleValue(v).(type) {
		case *ssa.Convert:
			v = x.X
		case *ssa.ChangeType:
			v = x.X
		default:
			return x
		}
	}
}

// isOthersFence reports whether a value is the fence of a lease that another acquire has returned.
func (s *critical) isOthersFence(v ssa.Value) bool {
	call, ok := throughConversions(v).(*ssa.Call)
	if !ok || s.site == nil {
		return false
	}
	handle := handleOf(&call.Call)
	if handle == nil {
		return false
	}
	ex, ok := soleValue(handle).(*ssa.Extract)
	if !ok {
		return false
	}
	from, ok := ex.Tuple.(*ssa.Call)
	return ok && from != s.call && clientOfCall(&from.Call) == lockRuntime
}

// fenceWord marks what may hold a fence under another type. Release is no lease.
var fenceWord = regexp.MustCompile(`(?i)fence|token|epoch|generation|(^|[^e])lease`)

// mayCarryFence reports whether a value may lead to the fence: it is made of one, or of a lease or its context, or
// nobody can tell.
func (s *critical) mayCarryFence(v ssa.Value, depth int) bool {
	if depth > maxKeyDepth {
		return true
	}
	v = soleValue(v)
	t := v.Type()
	if _, ok := constOf(v); ok || isNilConst(v) {
		return false
	}
	switch {
	case isContext(t):
		return !s.isOuterContext(v, 0)
	case holdsFence(t, s.fn.Pkg.Pkg, 0):
		return true
	}
	switch v := v.(type) {
	case *ssa.Parameter:
		return fenceWord.MatchString(v.Name())
	case *ssa.Global:
		return fenceWord.MatchString(v.Name())
	case *ssa.UnOp:
		if v.Op == token.MUL {
			if a, ok := cellOf(v.X).(*ssa.Alloc); ok {
				return s.variableMayCarry(a, depth)
			}
		}
	case *ssa.Alloc:
		return s.variableMayCarry(v, depth)
	case *ssa.FieldAddr:
		return fenceWord.MatchString(fieldNameOnly(v))
	case *ssa.Function, *ssa.Builtin, *ssa.FreeVar:
		return fenceWord.MatchString(v.Name())
	}
	instr, ok := v.(ssa.Instruction)
	if !ok {
		return true
	}
	for _, op := range instr.Operands(nil) {
		if *op != nil && s.mayCarryFence(*op, depth+1) {
			return true
		}
	}
	return false
}

// variableMayCarry is mayCarryFence for whatever is stored into a variable or a part of it.
func (s *critical) variableMayCarry(a *ssa.Alloc, depth int) bool {
	carries := false
	var look func(addr ssa.Value)
	look = func(addr ssa.Value) {
		eachCellUse(addr, func(instr ssa.Instruction, addr ssa.Value) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				carries = carries || instr.Addr == addr && s.mayCarryFence(instr.Val, depth+1)
			case *ssa.FieldAddr:
				look(instr)
			case *ssa.IndexAddr:
				look(instr)
			}
			return !carries
		})
	}
	look(a)
	return carries
}

// isOuterContext reports whether a context certainly knows nothing of the lease: it is the one that the acquire was
// given, or made of it or of nothing.
func (s *critical) isOuterContext(v ssa.Value, depth int) bool {
	v = soleValue(v)
	if s.ctx != nil && v == soleValue(s.ctx) {
		return true
	}
	if ex, ok := v.(*ssa.Extract); ok {
		v = ex.Tuple
	}
	call, ok := v.(*ssa.Call)
	if !ok || depth > maxDepth {
		return false
	}
	if isFresh(call) {
		return true
	}
	m, ok := methodOf(&call.Call)
	return ok && m.obj.Pkg() != nil && m.obj.Pkg().Path() == "context" && m.recv == nil && len(call.Call.Args) > 0 &&
		m.obj.Name() != "WithValue" && s.isOuterContext(call.Call.Args[0], depth+1)
}

// holdsFence reports whether a type is that of a fence or a lease, or has one inside that a package can get at.
func holdsFence(t types.Type, from *types.Package, depth int) bool {
	if name := namedIn(t, lockRuntime); name != "" {
		return name != "Locker"
	}
	if depth > 3 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holdsFence(u.Elem(), from, depth+1)
	case *types.Slice:
		return holdsFence(u.Elem(), from, depth+1)
	case *types.Struct:
		for f := range u.Fields() {
			if !f.Exported() && f.Pkg() != from {
				continue
			}
			if fenceWord.MatchString(f.Name()) || holdsFence(f.Type(), from, depth+1) {
				return true
			}
		}
	}
	return false
}
