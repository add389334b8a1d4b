// Package ll1010 is the check LL1010; see doc.md.
package ll1010

import (
	_ "embed"
	"fmt"
	"go/token"
	"go/types"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1010.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkFences})

// checkFences reports writes under a lock that do not say by which fence they are made, where the resource asks for
// one: calls of what is marked //lock:fenced, calls with a constant where a fence belongs, and writes to the tables and
// keys that other code of the package guards. A call in several sections is fine if it has the fence of one of them.
func checkFences(r *check.Reporter) {
	use := newFenceUse(r.Index)
	resources := guardedResources(r, use)
	faults := map[ssa.CallInstruction]*sections.Section{}
	fine := map[ssa.CallInstruction]bool{}
	var order []ssa.CallInstruction
	why := map[ssa.CallInstruction]string{}
	for _, s := range r.Criticals() {
		if r.Index.InTest(s.Pos) {
			continue
		}
		for _, call := range s.Calls() {
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
		pos, end := r.CallSpan(call)
		r.Report(analysis.Diagnostic{
			Pos: pos, End: end,
			Message: fmt.Sprintf("%s writes under the lock from %s at %s, but %s: a holder that was paused until the lock "+
				"went to somebody else writes over what that one has written; hand over the lease's fence",
				r.CallText(call), s.Name, r.Place(s.Pos, pos), why[call]),
			Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
		})
	}
}

// sinkFault says what is wrong with a call of a sink in a section, "" if nothing certainly is.
func (u *fenceUse) sinkFault(s *sections.Section, c *ssa.CallCommon) string {
	if clientOfCall(c) == clients.Runtime {
		return ""
	}
	marked := u.ix.IsFenced(c)
	params := c.Signature().Params()
	first := len(c.Args) - params.Len() // the receiver's place
	for i := range params.Len() {
		if clients.Named(params.At(i).Type(), clients.Runtime) != "Fence" {
			continue
		}
		arg := c.Args[first+i]
		if _, ok := ssax.ConstOf(ssax.ThroughConversions(arg)); ok {
			return "its fence is a constant"
		}
		if marked && isOthersFence(s, arg) {
			return "its fence is that of another lease"
		}
		return ""
	}
	if !marked || u.guarding(ssax.Outermost(s.Fn)) {
		return ""
	}
	args := c.Args
	if c.IsInvoke() {
		args = append([]ssa.Value{c.Value}, args...)
	}
	for _, a := range args {
		if ssax.IsContext(a.Type()) && !u.readsContext(c) {
			continue
		}
		if mayCarryFence(s, a, 0) {
			return ""
		}
	}
	return "nothing that it is given tells the fence, and it is marked //lock:fenced"
}

// clientOfCall is the library that a call belongs to.
func clientOfCall(c *ssa.CallCommon) clients.Client {
	m, ok := ssax.MethodOf(c)
	if !ok {
		return clients.None
	}
	return clients.OfPackage(m.Obj.Pkg())
}

// isOthersFence reports whether a value is the fence of a lease that another acquire has returned.
func isOthersFence(s *sections.Section, v ssa.Value) bool {
	call, ok := ssax.ThroughConversions(v).(*ssa.Call)
	if !ok || s.Site == nil {
		return false
	}
	handle := handles.Of(&call.Call)
	if handle == nil {
		return false
	}
	ex, ok := ssax.SoleValue(handle).(*ssa.Extract)
	if !ok {
		return false
	}
	from, ok := ex.Tuple.(*ssa.Call)
	return ok && from != s.Call && clientOfCall(&from.Call) == clients.Runtime
}

// fenceWord marks what may hold a fence under another type. Release is no lease.
var fenceWord = regexp.MustCompile(`(?i)fence|token|epoch|generation|(^|[^e])lease`)

// mayCarryFence reports whether a value may lead to the fence: it is made of one, or of a lease or its context, or
// nobody can tell.
func mayCarryFence(s *sections.Section, v ssa.Value, depth int) bool {
	if depth > keyexpr.MaxDepth {
		return true
	}
	v = ssax.SoleValue(v)
	t := v.Type()
	if _, ok := ssax.ConstOf(v); ok || ssax.IsNilConst(v) {
		return false
	}
	switch {
	case ssax.IsContext(t):
		return !isOuterContext(s, v, 0)
	case holdsFence(t, s.Fn.Pkg.Pkg, 0):
		return true
	}
	switch v := v.(type) {
	case *ssa.Parameter:
		return fenceWord.MatchString(v.Name())
	case *ssa.Global:
		return fenceWord.MatchString(v.Name())
	case *ssa.UnOp:
		if v.Op == token.MUL {
			if a, ok := ssax.CellOf(v.X).(*ssa.Alloc); ok {
				return variableMayCarry(s, a, depth)
			}
		}
	case *ssa.Alloc:
		return variableMayCarry(s, v, depth)
	case *ssa.FieldAddr:
		return fenceWord.MatchString(ssax.FieldNameOnly(v))
	case *ssa.Function, *ssa.Builtin, *ssa.FreeVar:
		return fenceWord.MatchString(v.Name())
	}
	instr, ok := v.(ssa.Instruction)
	if !ok {
		return true
	}
	for _, op := range instr.Operands(nil) {
		if *op != nil && mayCarryFence(s, *op, depth+1) {
			return true
		}
	}
	return false
}

// variableMayCarry is mayCarryFence for whatever is stored into a variable or a part of it.
func variableMayCarry(s *sections.Section, a *ssa.Alloc, depth int) bool {
	carries := false
	var look func(addr ssa.Value)
	look = func(addr ssa.Value) {
		ssax.EachCellUse(addr, func(instr ssa.Instruction, addr ssa.Value) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				carries = carries || instr.Addr == addr && mayCarryFence(s, instr.Val, depth+1)
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
func isOuterContext(s *sections.Section, v ssa.Value, depth int) bool {
	v = ssax.SoleValue(v)
	if s.Ctx != nil && v == ssax.SoleValue(s.Ctx) {
		return true
	}
	if ex, ok := v.(*ssa.Extract); ok {
		v = ex.Tuple
	}
	call, ok := v.(*ssa.Call)
	if !ok || depth > ssax.MaxDepth {
		return false
	}
	if sections.IsFresh(call) {
		return true
	}
	m, ok := ssax.MethodOf(&call.Call)
	return ok && m.Obj.Pkg() != nil && m.Obj.Pkg().Path() == "context" && m.Recv == nil && len(call.Call.Args) > 0 &&
		m.Obj.Name() != "WithValue" && isOuterContext(s, call.Call.Args[0], depth+1)
}

// holdsFence reports whether a type is that of a fence or a lease, or has one inside that a package can get at.
func holdsFence(t types.Type, from *types.Package, depth int) bool {
	if name := clients.Named(t, clients.Runtime); name != "" {
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
