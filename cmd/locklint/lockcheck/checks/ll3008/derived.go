package ll3008

import (
	"regexp"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// derivedFrom is the context that a call adds something to, such as a value, so that what it returns ends with that
// one; nil for other calls. A function of this package shows it, that of another says it by its name.
func derivedFrom(call *ssa.Call, m ssax.Method) ssa.Value {
	results := m.Obj.Signature().Results()
	parent := ssax.ContextOf(&call.Call)
	if parent == nil || results.Len() != 1 || !ssax.IsContext(results.At(0).Type()) {
		return nil
	}
	fn := call.Call.StaticCallee()
	switch {
	case m.Obj.Pkg().Path() == "context" && m.Obj.Name() != "WithValue":
		return nil
	case fn != nil && fn.Pkg == call.Parent().Pkg && len(fn.Blocks) > 0:
		if !returnsDerived(fn) {
			return nil
		}
	case !derives.MatchString(m.Obj.Name()) || detaches.MatchString(m.Obj.Name()):
		return nil
	}
	return parent
}

// returnsDerived reports whether a function returns nothing but what ends with the context that it is given.
func returnsDerived(fn *ssa.Function) bool {
	derived := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || b == fn.Recover {
			continue
		}
		v := ssax.Returned(ret, 0)
		for range ssax.MaxDepth {
			call, ok := ssax.SoleValue(v).(*ssa.Call)
			if !ok {
				break
			}
			m, ok := ssax.MethodOf(&call.Call)
			if !ok || call.Call.StaticCallee() == fn || m.Obj.Pkg() == nil || m.Obj.Pkg().Path() != "context" ||
				m.Obj.Name() != "WithValue" {
				return false
			}
			v = call.Call.Args[0]
		}
		if p, ok := ssax.SoleValue(v).(*ssa.Parameter); !ok || p.Parent() != fn {
			return false
		}
		derived = true
	}
	return derived
}

var (
	derives = regexp.MustCompile(`^(?:With|ContextWith|NewContext|New(?:Outgoing|Incoming)Context|` +
		`AppendToOutgoingContext)`)
	detaches = regexp.MustCompile(`(?i)without|detach|background|uncancel|no_?cancel|async|fork|clone|copy`)
)
