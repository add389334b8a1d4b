package lockcheck

import (
	"fmt"
	"go/token"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

var ll1011 = newCheck("LL1011", "goroutine started in the section outlives it", Warning, false, checkGoroutines)

// writeName finds methods that change something by their names.
var writeName = regexp.MustCompile(`^(Set|Put|Save|Store|Insert|Update|Upsert|Delete|Remove|Create|Write|Exec|Incr|Decr|HSet|HDel|LPush|RPush|SAdd|ZAdd|Expire|Commit|Transfer|Charge|Pay|Sell)`)

// checkGoroutines reports goroutines of a critical section that change something and that nobody waits for: they go on
// after the release, without the lock. Silent where anything in the section behind the go statement waits, where the
// goroutine is given the lease's context, which ends with the lease, and where it only notifies, logs or measures.
func checkGoroutines(r *reporter) {
	done := map[*ssa.Go]bool{}
	for _, s := range r.criticals() {
		for instr := range s.inside {
			g, ok := instr.(*ssa.Go)
			if !ok || done[g] || r.index.inTest(g.Pos()) || waitsAfter(g) || s.bounds(g) {
				continue
			}
			write := r.writes(g)
			if write == "" {
				continue
			}
			done[g] = true
			r.report(analysis.Diagnostic{
				Pos: g.Pos(),
				Message: fmt.Sprintf("this goroutine outlives the section of the lock from %s at %s: %s may run after the release; wait for it before, or do it in the section",
					s.name, r.place(s.pos, g.Pos()), write),
				Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
			})
		}
	}
}

// waitsAfter reports whether something waits behind a go statement: a receive, a select, or a method Wait.
func waitsAfter(g *ssa.Go) bool {
	found := false
	var look func(fn *ssa.Function)
	look = func(fn *ssa.Function) {
		for _, b := range fn.Blocks {
			for i, instr := range b.Instrs {
				if !isWait(instr) {
					continue
				}
				if fn != g.Parent() || b == g.Block() && i > indexIn(b, g) || reaches(g.Block(), b) {
					found = true
				}
			}
		}
		for _, lit := range fn.AnonFuncs {
			if startedBy(lit) == nil {
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
		m, ok := methodOf(instr.Common())
		return ok && m.recv != nil && m.obj.Name() == "Wait"
	}
	return false
}

// startedBy is the go statement that runs a literal, nil if there is none.
func startedBy(lit *ssa.Function) *ssa.Go {
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			if g, ok := instr.(*ssa.Go); ok && literal(g.Common()) == lit {
				return g
			}
		}
	}
	return nil
}

// bounds reports whether a goroutine works with the lease or its context, which end before anybody else has the lock.
func (s *critical) bounds(g *ssa.Go) bool {
	bounded := func(v ssa.Value) bool {
		v = soleValue(v)
		if handleLibrary(v.Type()) == lockRuntime {
			return true
		}
		if p, ok := v.(*ssa.Parameter); ok {
			return s.body != nil && p.Parent() == s.body && isContext(p.Type())
		}
		call, ok := v.(*ssa.Call)
		if !ok {
			return false
		}
		handle := handleOf(&call.Call)
		return handle != nil && handleLibrary(handle.Type()) == lockRuntime
	}
	for _, a := range g.Call.Args {
		if bounded(a) {
			return true
		}
	}
	if mc, ok := g.Call.Value.(*ssa.MakeClosure); ok {
		for _, b := range mc.Bindings {
			cell, ok := b.(*ssa.Alloc)
			if !ok {
				continue
			}
			if stored, ok := onlyStore(cell); ok && bounded(stored) || handleLibrary(elem(cell.Type())) == lockRuntime {
				return true
			}
		}
	}
	return false
}

// writes names the call by which a goroutine changes something, "" if there is none in sight.
func (r *reporter) writes(g *ssa.Go) string {
	isWrite := func(call ssa.CallInstruction) bool {
		m, ok := methodOf(call.Common())
		return ok && writeName.MatchString(m.obj.Name()) && isWork(call.Common())
	}
	lit := literal(g.Common())
	if lit == nil {
		if isWrite(g) {
			return r.callText(g)
		}
		return ""
	}
	name := ""
	eachCall(lit, func(call ssa.CallInstruction) {
		if name == "" && isWrite(call) {
			name = r.callText(call)
		}
	})
	return name
}
