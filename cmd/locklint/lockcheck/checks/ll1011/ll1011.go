// Package ll1011 is the check LL1011; see doc.md.
package ll1011

import (
	_ "embed"
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/guards"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

//go:embed doc.md
var page string

// Check is LL1011.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Run: checkGoroutines})

// checkGoroutines reports goroutines of a critical section that change something and that nobody waits for: they go on
// after the release, without the lock. Those of an errgroup or another group, and what time.AfterFunc runs, are
// goroutines like those of go statements. Silent where anything in the section behind the start waits, where the
// goroutine is given the lease's context, which ends with the lease, and where it only notifies, logs or measures.
func checkGoroutines(r *check.Reporter) {
	done := map[ssa.CallInstruction]bool{}
	for _, s := range r.Criticals() {
		for _, call := range s.Calls() {
			g := startOf(call)
			if g == nil || done[call] || r.Index.InTest(call.Pos()) || waitsAfter(call) || bounds(s, g) {
				continue
			}
			write := writes(r, g)
			if write == "" {
				continue
			}
			done[call] = true
			pos := call.Pos()
			if _, ok := call.(*ssa.Go); !ok {
				pos, _ = r.CallSpan(call)
			}
			r.Report(analysis.Diagnostic{
				Pos: pos,
				Message: fmt.Sprintf("this goroutine outlives the section of the lock from %s at %s: %s may run after the "+
					"release; wait for it before, or do it in the section",
					s.Name, r.Place(s.Pos, pos), write),
				Related: []analysis.RelatedInformation{{Pos: s.Pos, Message: "acquired here"}},
			})
		}
	}
}

// A start is a call that starts a goroutine.
type start struct {
	call ssa.CallInstruction
	fn   ssa.Value // what the goroutine runs
	args []ssa.Value
}

// startOf recognises a go statement, the method Go of a group, and time.AfterFunc; nil for other calls.
func startOf(call ssa.CallInstruction) *start {
	c := call.Common()
	if _, ok := call.(*ssa.Go); ok {
		return &start{call, c.Value, c.Args}
	}
	m, ok := ssax.MethodOf(c)
	if !ok || len(m.Args) == 0 || m.Obj.Pkg() == nil {
		return nil
	}
	// else it may be stopped
	timer := m.Obj.FullName() == "time.AfterFunc" && (call.Value() == nil || ssax.Unused(call.Value()))
	if timer || m.Recv != nil && m.Obj.Name() == "Go" {
		if fn := m.Args[len(m.Args)-1]; ssax.LiteralOf(fn) != nil {
			return &start{call, fn, nil}
		}
	}
	return nil
}

// waitsAfter reports whether something waits behind the start of a goroutine: a receive, a select, or a method Wait.
func waitsAfter(g ssa.CallInstruction) bool {
	found := false
	var look func(fn *ssa.Function)
	look = func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			for i, instr := range b.Instrs {
				if !isWait(instr) {
					continue
				}
				if fn != g.Parent() || b == g.Block() && i > ssax.IndexIn(b, g) || ssax.Reaches(g.Block(), b) {
					found = true
				}
			}
		}
		for _, lit := range fn.AnonFuncs {
			if ssax.StartedBy(lit) == nil {
				look(lit)
			}
		}
	}
	look(g.Parent())
	return found
}

// isWait reports whether an instruction blocks until somebody else does something.
func isWait(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.Select:
		return true
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Range: // over a channel it is a receive, over anything else it does not matter
		return false
	case ssa.CallInstruction:
		m, ok := ssax.MethodOf(instr.Common())
		return ok && m.Recv != nil && m.Obj.Name() == "Wait"
	}
	return false
}

// bounds reports whether a goroutine works with the lease or its context, which end before anybody else has the lock.
func bounds(s *sections.Section, g *start) bool {
	bounded := func(v ssa.Value) bool {
		v = ssax.SoleValue(v)
		if handles.Library(v.Type()) == clients.Runtime {
			return true
		}
		if p, ok := v.(*ssa.Parameter); ok {
			return s.Body != nil && p.Parent() == s.Body && ssax.IsContext(p.Type())
		}
		call, ok := v.(*ssa.Call)
		if !ok {
			return false
		}
		handle := handles.Of(&call.Call)
		return handle != nil && handles.Library(handle.Type()) == clients.Runtime
	}
	for _, a := range g.args {
		if bounded(a) {
			return true
		}
	}
	if mc, ok := g.fn.(*ssa.MakeClosure); ok {
		for _, b := range mc.Bindings {
			cell, ok := b.(*ssa.Alloc)
			if !ok {
				continue
			}
			if stored, ok := ssax.OnlyStore(cell); ok && bounded(stored) ||
				handles.Library(ssax.Elem(cell.Type())) == clients.Runtime {
				return true
			}
		}
	}
	return false
}

// writes names the call by which a goroutine changes something, "" if there is none in sight.
func writes(r *check.Reporter, g *start) string {
	isWrite := func(call ssa.CallInstruction) bool {
		m, ok := ssax.MethodOf(call.Common())
		return ok && guards.WriteName.MatchString(m.Obj.Name()) && sections.IsWork(call.Common())
	}
	if _, ok := g.call.(*ssa.Go); ok && isWrite(g.call) {
		return r.CallText(g.call)
	}
	fn := ssax.LiteralOf(g.fn)
	if fn == nil || fn.Pkg != r.Index.Pkg {
		return ""
	}
	name := ""
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		if name == "" && isWrite(call) {
			name = r.CallText(call)
		}
	})
	return name
}
