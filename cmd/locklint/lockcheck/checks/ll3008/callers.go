package ll3008

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// handedIn says in what way the context that a function is given may be cancelled, by what its callers in this package hand
// in: "" if none of them is known to hand in one that may. What a caller that only other packages call is given may.
func handedIn(r *check.Reporter, ctx ssa.Value, from callers, depth int) string {
	p, ok := ssax.SoleValue(ctx).(*ssa.Parameter)
	if !ok || depth > maxCallers {
		return ""
	}
	why := ""
	for _, fn := range r.Index.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(ssa.CallInstruction)
				if !ok || why != "" || r.Index.InTest(call.Pos()) || call.Common().StaticCallee() != p.Parent() {
					continue
				}
				given := call.Common().Args[slices.Index(p.Parent().Params, p)]
				if why = cancellable(given, call, 0); why == callersContext && endsLoop(given, call) {
					why = "a context that ends the loop of " + ssax.Outermost(fn).Name()
				} else if why == callersContext {
					if why = handedIn(r, given, from, depth+1); why == "" && from == alsoElsewhere && calledElsewhere(r, ssax.Outermost(fn)) {
						why = callersContext
					}
				} else if why == "" {
					why = stoppedContext(r, given)
				}
			}
		}
	}
	return why
}

// onlyEndless reports whether an unexported function is called in this package, by all that mention it, with contexts that
// never end. A call through an interface mentions the methods that may be behind it.
func onlyEndless(r *check.Reporter, ctx ssa.Value, depth int) bool {
	p, ok := ssax.SoleValue(ctx).(*ssa.Parameter)
	if !ok || depth > maxCallers || p.Parent().Object() == nil || p.Parent().Object().Exported() {
		return false
	}
	fn, called := p.Parent(), false
	isFn := func(op *ssa.Value) bool {
		other, ok := (*op).(*ssa.Function)
		return ok && (other == fn || other.Object() == fn.Object()) // itself, or what stands for it as a value
	}
	for _, other := range r.Index.Shipped {
		for _, b := range other.Blocks {
			for _, instr := range b.Instrs {
				call, ok := instr.(ssa.CallInstruction)
				if ok && ssax.MayInvoke(call.Common(), fn) {
					return false
				}
				if !ok || call.Common().StaticCallee() != fn {
					if slices.ContainsFunc(instr.Operands(nil), isFn) {
						return false // it goes elsewhere
					}
					continue
				}
				given := call.Common().Args[slices.Index(fn.Params, p)]
				if ssax.SoleValue(given) == ssa.Value(p) {
					continue // calls itself
				}
				if called = true; !endless(given, 0) && !onlyEndless(r, given, depth+1) {
					return false
				}
			}
		}
	}
	return called
}

// givenTo is what a literal that is deferred or called on the spot is given for a parameter, nil for other parameters.
func givenTo(p *ssa.Parameter) ssa.Value {
	if p.Parent().Parent() == nil {
		return nil
	}
	call, ok := ssax.RunnerOf(p.Parent()).(ssa.CallInstruction)
	if !ok {
		return nil
	}
	if _, started := call.(*ssa.Go); started {
		return nil
	}
	return call.Common().Args[slices.Index(p.Parent().Params, p)]
}

// endsLoop reports whether a call stands in a loop that looks whether a context has ended, as a worker does which runs
// until then: it ends between two rounds, or during one.
func endsLoop(ctx ssa.Value, call ssa.CallInstruction) bool {
	for head := call.Block(); head != nil; head = head.Idom() {
		loop := ssax.LoopOf(head)
		if !loop[call.Block()] {
			continue
		}
		for b := range loop {
			for _, instr := range b.Instrs {
				if asked, ok := instr.(*ssa.Call); ok && (ssax.AsksContext(ssax.BareContext(ctx), asked, "Done") ||
					ssax.AsksContext(ssax.BareContext(ctx), asked, "Err")) {
					return true
				}
			}
		}
	}
	return false
}

// callers says which of the callers of a function count, who hand in a context of their own.
type callers uint8

const (
	whatIsSeen    callers = iota // those in the package that are seen to hand in one that may be cancelled
	alsoElsewhere                // and those elsewhere, of a function that nobody in the package calls
	anybody
)

// maxCallers is how many callers up a context is followed.
const maxCallers = 2
