// Package ll1020 is the check LL1020; see doc.md.
package ll1020

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/fences"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1020.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkGuards})

// checkGuards reports guards in sections whose locks are all permits, under a name that certainly says nothing of the
// slot. GuardLease knows it by itself.
func checkGuards(r *check.Reporter) {
	done := map[ssa.CallInstruction]bool{}
	for _, s := range r.Criticals() {
		if !s.All(leases.Permits) || r.Index.InTest(s.Pos) {
			continue
		}
		for _, call := range s.Calls() {
			resource := fences.Resource(call.Common())
			if resource == nil || done[call] || maySaySlot(resource, 0) {
				continue
			}
			done[call] = true
			pos, end := r.CallSpan(call)
			r.Report(analysis.Diagnostic{
				Pos: pos, End: end,
				Message: fmt.Sprintf("%s guards one name for all holders of a permit from %s at %s: each has a fence of its own, so "+
					"the older of two that hold the lock at the same time is refused; use GuardLease, or add the lease's Slot to the "+
					"name", r.CallText(call), s.Name, r.Place(s.Pos, pos)),
				Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
			})
		}
	}
}

// composers are functions that make a text of what they are given and of nothing else.
var composers = map[string]bool{"fmt.Sprintf": true, "fmt.Sprint": true, "strings.Join": true, "strconv.Itoa": true,
	"strconv.FormatInt": true}

// maySaySlot reports whether a name may hold the slot: something that it is made of is the slot, or nobody can tell.
func maySaySlot(v ssa.Value, depth int) bool {
	if depth > keyexpr.MaxDepth {
		return true
	}
	v = ssax.SoleValue(v)
	switch v := v.(type) {
	case *ssa.Const, *ssa.Parameter, *ssa.FreeVar, *ssa.Global:
		return false
	case *ssa.Call:
		m, ok := ssax.MethodOf(&v.Call)
		if !ok {
			return true
		}
		of := clients.OfPackage(m.Obj.Pkg()) == clients.Runtime
		if m.Obj.Pkg() == nil || !composers[m.Obj.Pkg().Path()+"."+m.Obj.Name()] && !(of && m.Recv == nil) &&
			!(of && m.Obj.Name() == "Key") {
			return true
		}
		if m.Recv != nil {
			return false
		}
	case *ssa.Alloc:
		return anyStored(v, depth)
	}
	instr, ok := v.(ssa.Instruction)
	if !ok {
		return false
	}
	for _, op := range instr.Operands(nil) {
		if _, isFunc := (*op).(*ssa.Function); *op != nil && !isFunc && maySaySlot(*op, depth+1) {
			return true
		}
	}
	return false
}

// anyStored is maySaySlot for whatever is stored into a variable or a part of it.
func anyStored(a *ssa.Alloc, depth int) bool {
	says := false
	var look func(addr ssa.Value)
	look = func(addr ssa.Value) {
		ssax.EachCellUse(addr, func(instr ssa.Instruction, addr ssa.Value) bool {
			switch instr := instr.(type) {
			case *ssa.Store:
				says = says || instr.Addr == addr && maySaySlot(instr.Val, depth+1)
			case *ssa.FieldAddr:
				look(instr)
			case *ssa.IndexAddr:
				look(instr)
			}
			return !says
		})
	}
	look(a)
	return says
}
