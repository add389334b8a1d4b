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
var writeName = regexp.MustCompile(`^(Set|Put|Save|Store|Insert|Update|Upsert|Delete|Remove|Create|Write|Exec|` +
	`Incr|Decr|HSet|HDel|LPush|RPush|SAdd|ZAdd|Expire|Commit|Transfer|Charge|Pay|Sell)`)

// checkGoroutines reports goroutines of a critical section that change something and that nobody waits for: they go on
// after the release, without the lock. Those of an errgroup or another group, and what time.AfterFunc runs, are
// goroutines like those of go statements. Silent where anything in the section behind the start waits, where the
// goroutine is given the lease's context, which ends with the lease, and where it only notifies, logs or measures.
func checkGoroutines(r *reporter) {
	done := map[ssa.CallInstruction]bool{}
	for _, s := range r.criticals() {
		for _, call := range s.calls() {
			g := startOf(call)
			if g == nil || done[call] || r.index.inTest(call.Pos()) || waitsAfter(call) || s.bounds(g) {
				continue
			}
			write := r.writes(g)
			if write == "" {
				continue
			}
			done[call] = true
			pos := call.Pos()
			if _, ok := call.(*ssa.Go); !ok {
				pos, _ = r.callSpan(call)
			}
			r.report(analysis.Diagnostic{
				Pos: pos,
				Message: fmt.Sprintf("this goroutine outlives the section of the lock from %s at %s: %s may run after the "+
					"release; wait for it before, or do it in the section",
					s.name, r.place(s.pos, pos), write),
				Related: []analysis.RelatedInformation{{Pos: s.pos, Message: "acquired here"}},
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
	m, ok := methodOf(c)
	if !ok || len(m.args) == 0 || m.obj.Pkg() == nil {
		return nil
	}
	// else it may be stopped
	timer := m.obj.FullName() == "time.AfterFunc" && (call.Value() == nil || unused(call.Value()))
	if timer || m.recv != nil && m.obj.Name() == "Go" {
		if fn := m.args[len(m.args)-1]; literalOf(fn) != nil {
			return &start{call, fn, nil}
		}
	}
	return nil
}

// literalOf is the function that a value is, nil if nobody knows.
func literalOf(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.MakeClosure:
		fn, _ := v.Fn.(*ssa.Function)
		return fn
	case *ssa.ChangeType:
		return literalOf(v.X)
	case *ssa.Function:
		return v
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
func (s *critical) bounds(g *start) bool {
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
			if stored, ok := onlyStore(cell); ok && bounded(stored) || handleLibrary(elem(cell.Type())) == lockRuntime {
				return true
			}
		}
	}
	return false
}

// writes names the call by which a goroutine changes something, "" if there is none in sight.
func (r *reporter) writes(g *start) string {
	isWrite := func(call ssa.CallInstruction) bool {
		m, ok := methodOf(call.Common())
		return ok && writeName.MatchString(m.obj.Name()) && isWork(call.Common())
	}
	if _, ok := g.call.(*ssa.Go); ok && isWrite(g.call) {
		return r.callText(g.call)
	}
	fn := literalOf(g.fn)
	if fn == nil || fn.Pkg != r.index.pkg {
		return ""
	}
	name := ""
	eachCall(fn, func(call ssa.CallInstruction) {
		if name == "" && isWrite(call) {
			name = r.callText(call)
		}
	})
	return name
}
