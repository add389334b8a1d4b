package leases

import (
	"go/constant"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Short functions and methods of the program say what a variable holds:
//
//	func (p phase) isDone() bool { return p == done }
//
// What they return is worked out with what the path knows of their arguments.

// readsOf are the fields of a struct that a function reads which is given the struct itself.
func readsOf(p *ssa.Parameter) (effects []effect, known bool) {
	for _, use := range *p.Referrers() {
		switch use := use.(type) {
		case *ssa.DebugRef:
		case *ssa.Store:
			own, ok := use.Addr.(*ssa.Alloc)
			if !ok {
				return nil, false
			}
			for _, part := range *own.Referrers() {
				switch part := part.(type) {
				case *ssa.DebugRef:
				case *ssa.Store:
					if part != use {
						return nil, false
					}
				case *ssa.FieldAddr:
					on, known := effectOf(part, *part.Referrers())
					if !known || on.to != nil {
						return nil, false
					}
					on.field, on.in = part.Field, p.Type()
					effects = append(effects, on)
				default:
					return nil, false
				}
			}
		default:
			return nil, false
		}
	}
	return effects, true
}

// shortResult is what a function returns that is nothing but one expression. Nil for others.
func shortResult(fn *ssa.Function) ssa.Value {
	if fn == nil || len(fn.Blocks) != 1 {
		return nil
	}
	ret, ok := fn.Blocks[0].Instrs[len(fn.Blocks[0].Instrs)-1].(*ssa.Return)
	if !ok || len(ret.Results) != 1 || !ssax.IsBool(ret.Results[0].Type()) || !onlyReads(fn) {
		return nil
	}
	return ret.Results[0]
}

// meant is what a value in a function is where it is called: an argument, or a variable or place that one leads to. Nil
// where that is not known.
func (found *places) meant(v ssa.Value, call *ssa.Call) ssa.Value {
	fn := call.Call.StaticCallee()
	switch v := v.(type) {
	case *ssa.Const:
		return v
	case *ssa.ChangeType:
		return found.meant(v.X, call)
	case *ssa.Parameter:
		for i, p := range fn.Params {
			if p == v {
				return call.Call.Args[i]
			}
		}
	case *ssa.UnOp:
		if v.Op != token.MUL {
			return nil
		}
		if p, ok := v.X.(*ssa.Parameter); ok {
			if cell := found.variable(found.meant(p, call)); cell != nil {
				return cell
			}
			return nil
		}
		field, ok := v.X.(*ssa.FieldAddr)
		if !ok {
			return nil
		}
		of := field.X
		own, isCopy := of.(*ssa.Alloc)
		if isCopy {
			if of, isCopy = ssax.OnlyStore(own); !isCopy {
				return nil
			}
		}
		p, ok := of.(*ssa.Parameter)
		if !ok {
			return nil
		}
		addr := found.meant(p, call)
		if load, ok := addr.(*ssa.UnOp); isCopy && ok && load.Op == token.MUL {
			addr = load.X
		} else if isCopy {
			return nil
		}
		return found.reached(addr, effect{field: field.Field, in: ssax.Elem(field.X.Type())})
	}
	return nil
}

// contentOf is the content of a value, or of what is in a variable or place.
func (s *pathState) contentOf(v ssa.Value) content {
	switch v.(type) {
	case *ssa.Alloc, *place:
		if c, ok := s.contents[v]; ok {
			return c.whole(heldType(v))
		}
		return unknownOf(heldType(v))
	}
	return s.content(v, 0).whole(v.Type())
}

// answered is what a call of a short function returns.
func (f *follower) answered(call *ssa.Call, s *pathState) abstract {
	if tests, ok := textTests[calleeName(call)]; ok {
		text, part := s.content(call.Call.Args[0], 0), s.content(call.Call.Args[1], 0)
		if text.exact && part.exact {
			return truth(tests(text.text, part.text))
		}
		return unknown
	}
	if found := f.readAtomic(call, s); found != unknown || !ssax.IsBool(call.Type()) {
		return found
	}
	if result := shortResult(calleeOf(call)); result != nil {
		if a := f.answer(result, call, s); a != unknown {
			return a
		}
	}
	return f.objectSays(call, s).abstract()
}

func (f *follower) answer(v ssa.Value, call *ssa.Call, s *pathState) abstract {
	switch v := v.(type) {
	case *ssa.UnOp:
		if v.Op == token.NOT {
			return f.answer(v.X, call, s).negated()
		}
	case *ssa.BinOp:
		x, y := f.places.meant(v.X, call), f.places.meant(v.Y, call)
		when, t := holdsFor(v.Op), v.X.Type()
		if y != nil && ssax.IsNilConst(y) && s.of(x) == theError && f.site != nil && !f.site.Both {
			switch v.Op { // func failed(err error) bool { return err != nil }
			case token.EQL:
				return theFlag
			case token.NEQ:
				return theFailure
			}
		}
		if when == 0 || x == nil || y == nil || !isNumber(t) && !isText(t) {
			return unknown
		}
		return outcome(when, relation(s.contentOf(x), s.contentOf(y), t))
	}
	switch at := f.places.meant(v, call).(type) {
	case nil:
		return unknown
	case *ssa.Alloc, *place:
		return s.known[at]
	default:
		return s.of(at)
	}
}

// textTests are functions that look at a text.
var textTests = map[string]func(text, part string) bool{
	"strings.HasPrefix": strings.HasPrefix, "strings.HasSuffix": strings.HasSuffix, "strings.Contains": strings.Contains,
	"strings.EqualFold": strings.EqualFold,
}

func calleeName(call *ssa.Call) string {
	if fn := call.Call.StaticCallee(); fn != nil {
		return ssax.CalleeName(fn)
	}
	return ""
}

// asksThrough finds what calls of short functions ask.
func (found gatheredSubjects) asksThrough(call *ssa.Call) {
	if _, ok := textTests[calleeName(call)]; ok {
		found.add(call.Call.Args[0], subject{bits: allBits}, map[ssa.Value]bool{})
		return
	}
	result := shortResult(calleeOf(call))
	for {
		not, ok := result.(*ssa.UnOp)
		if !ok || not.Op != token.NOT {
			break
		}
		result = not.X
	}
	cmp, ok := result.(*ssa.BinOp)
	if !ok || holdsFor(cmp.Op) == 0 {
		return
	}
	for _, side := range [2][2]ssa.Value{{cmp.X, cmp.Y}, {cmp.Y, cmp.X}} {
		c, isConst := side[1].(*ssa.Const)
		of := found.places.meant(side[0], call)
		if !isConst || of == nil {
			continue
		}
		asked := subject{bits: allBits}
		if c.Value != nil && c.Value.Kind() == constant.Int {
			if n, ok := constNumber(c); ok {
				asked.marks = []int64{plus(n, -1), n, plus(n, 1)}
			}
		}
		switch of.(type) {
		case *ssa.Alloc, *place:
			found.addVariable(of, asked, map[ssa.Value]bool{})
		default:
			found.add(of, asked, map[ssa.Value]bool{})
		}
	}
}
