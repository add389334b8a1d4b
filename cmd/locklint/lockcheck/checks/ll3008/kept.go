package ll3008

import (
	"go/token"
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// keptContext is cancellable for a context that an object keeps: one of a request, as a rule, where each request makes
// an object that answers it. All that the package ever sets the field to is a parameter of who makes the object.
func keptContext(r *check.Reporter, ctx ssa.Value) string {
	load, field := loadOfField(ctx)
	if field == nil {
		return ""
	}
	name, sets, others := ssax.FieldName(field.X.Type(), field.Field), 0, 0
	for _, fn := range r.Index.Funcs {
		eachFieldSet(fn, func(of string, st *ssa.Store) {
			if of != name || r.Index.InTest(st.Pos()) {
				return
			}
			sets++
			if p, ok := ssax.SoleValue(st.Val).(*ssa.Parameter); !ok || p.Parent() == load.Parent() {
				others++
			}
		})
	}
	if sets == 0 || others > 0 {
		return ""
	}
	return "the context that its object was made with"
}

// stoppedContext is cancellable for a context that an object keeps together with what cancels it, such as that of a
// worker which Stop ends while it works. Where the one who cancels waits for the work before that, nothing is held then.
func stoppedContext(r *check.Reporter, ctx ssa.Value) string {
	load, field := loadOfField(ctx)
	if field == nil {
		return ""
	}
	cancel := cancelField(r, ssax.FieldName(field.X.Type(), field.Field))
	if cancel == "" {
		return ""
	}
	why := ""
	for _, fn := range r.Index.Funcs {
		if r.Index.InTest(fn.Pos()) {
			continue
		}
		for _, call := range cancelsOf(fn, cancel) {
			if ssax.Outermost(fn) == ssax.Outermost(load.Parent()) || waitsBefore(call) {
				return ""
			}
			why = "a context that " + ssax.Outermost(fn).Name() + " cancels"
		}
	}
	return why
}

// loadOfField is a value as what is read from a field of an object, nil if it is something else.
func loadOfField(v ssa.Value) (*ssa.UnOp, *ssa.FieldAddr) {
	load, ok := ssax.SoleValue(v).(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return nil, nil
	}
	field, _ := load.X.(*ssa.FieldAddr)
	return load, field
}

// cancelsOf are the calls by which a function, but not its literals, runs what a field holds.
func cancelsOf(fn *ssa.Function, name string) (calls []ssa.CallInstruction) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok || call.Common().IsInvoke() {
				continue
			}
			if _, field := loadOfField(call.Common().Value); field != nil && ssax.FieldName(field.X.Type(), field.Field) == name {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// waitsBefore reports whether a function has waited for others before a call, or runs the call when it ends.
func waitsBefore(call ssa.CallInstruction) bool {
	found := false
	ssax.EachCall(call.Parent(), func(other ssa.CallInstruction) {
		m, ok := ssax.MethodOf(other.Common())
		found = found || ok && m.Recv != nil && waitWord.MatchString(m.Obj.Name()) &&
			(ssax.IsDeferred(call) || ssax.RunsBefore(other, call))
	})
	return found
}

// waitWord marks methods that return once the work is done.
var waitWord = regexp.MustCompile(`^(?:Wait|Shutdown|GracefulStop|Drain)`)
