// Package ssax makes SSA form handy: calls and their receivers, function literals and what they capture, constants, and
// which block can run after which.
package ssax

import (
	"cmp"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// ContextOf is the context that a call is given as its first argument, nil if there is none.
func ContextOf(c *ssa.CallCommon) ssa.Value {
	m, ok := MethodOf(c)
	if !ok {
		return nil
	}
	args := m.all
	if len(args) > 0 && IsContext(args[0].Type()) {
		return args[0]
	}
	return nil
}

// CalleeName names a function or method across packages.
func CalleeName(fn *ssa.Function) string {
	if obj, ok := fn.Object().(*types.Func); ok {
		return obj.FullName()
	}
	return fn.String()
}

// A Method is a call in the one form that recognisers want: the receiver apart, a leading context dropped.
type Method struct {
	Obj  *types.Func
	Recv ssa.Value // nil for functions
	Args []ssa.Value
	Call *ssa.CallCommon

	// Bound: a method value is called, as in unlock := m.Unlock. The receiver is not among the arguments of Call then.
	Bound bool
	all   []ssa.Value // Args with a leading context
}

// Arguments are what a method is given, a leading context with it.
func (m Method) Arguments() []ssa.Value { return m.all }

// MethodOf normalises a call; calls of function values have no method, unless that is certainly a method value.
func MethodOf(c *ssa.CallCommon) (Method, bool) {
	m := Method{Call: c}
	if c.IsInvoke() {
		m.Obj, m.Recv, m.Args = c.Method, c.Value, c.Args
	} else if obj, recv, ok := BoundMethod(c.Value); ok {
		m.Obj, m.Recv, m.Args, m.Bound = obj, recv, c.Args, true
	} else {
		fn := c.StaticCallee()
		if fn == nil {
			return m, false
		}
		if o := fn.Origin(); o != nil {
			fn = o
		}
		obj, ok := fn.Object().(*types.Func)
		if !ok {
			return m, false
		}
		m.Obj, m.Args = obj, c.Args
		if obj.Signature().Recv() != nil {
			if len(c.Args) == 0 {
				return m, false
			}
			m.Recv, m.Args = c.Args[0], c.Args[1:]
		}
	}
	m.all = m.Args
	if params := m.Obj.Signature().Params(); params.Len() > 0 && len(m.Args) > 0 && IsContext(params.At(0).Type()) {
		m.Args = m.Args[1:]
	}
	return m, true
}

// Arg returns an argument, nil if there are not so many.
func (m Method) Arg(i int) ssa.Value {
	if i < len(m.Args) {
		return m.Args[i]
	}
	return nil
}

// Rest returns the elements of the variadic parameter, which is argument i.
func (m Method) Rest(i int) []ssa.Value {
	v := m.Arg(i)
	if v == nil || !m.Obj.Signature().Variadic() {
		return nil
	}
	elems, _ := Variadic(v)
	return elems
}

// Result returns the type of the only result, nil if there is another number of them.
func (m Method) Result() types.Type {
	if res := m.Obj.Signature().Results(); res.Len() == 1 {
		return res.At(0).Type()
	}
	return nil
}

// Unused reports whether nothing refers to a value.
func Unused(v ssa.Value) bool {
	for _, instr := range *v.Referrers() {
		if _, debug := instr.(*ssa.DebugRef); !debug {
			return false
		}
	}
	return true
}

// Undecided reports whether nothing depends on a value: it is unused, or compared in an if statement without a body.
func Undecided(v ssa.Value) bool {
	for _, instr := range *v.Referrers() {
		switch instr := instr.(type) {
		case *ssa.DebugRef:
		case *ssa.BinOp:
			if !Unused(instr) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// EachCall visits the calls of a function and of its literals.
func EachCall(fn *ssa.Function, visit func(ssa.CallInstruction)) {
	EachInstr(fn, func(instr ssa.Instruction) {
		if call, ok := instr.(ssa.CallInstruction); ok {
			visit(call)
		}
	})
}

// EachInstr visits the instructions of a function and of its literals.
func EachInstr(fn *ssa.Function, visit func(ssa.Instruction)) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			visit(instr)
		}
	}
	for _, lit := range fn.AnonFuncs {
		EachInstr(lit, visit)
	}
}

// CalleeShort names a function the way people do: Type.Method or Func.
func CalleeShort(fn *ssa.Function) string {
	if obj, ok := fn.Object().(*types.Func); ok {
		return ShortName(obj)
	}
	return fn.Name()
}

// ShortName is CalleeShort for a function that has no SSA form here.
func ShortName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// SortCalls puts calls in source order.
func SortCalls(list []ssa.CallInstruction) {
	slices.SortFunc(list, func(a, b ssa.CallInstruction) int { return cmp.Compare(a.Common().Pos(), b.Common().Pos()) })
}

// CallsOf are the keys of a set of calls in source order.
func CallsOf(set map[ssa.CallInstruction]bool) []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for call := range set {
		list = append(list, call)
	}
	SortCalls(list)
	return list
}

// MayInvoke reports whether a call through an interface may be one of a method.
func MayInvoke(c *ssa.CallCommon, method *ssa.Function) bool {
	recv := method.Signature.Recv()
	if !c.IsInvoke() || recv == nil || c.Method.Name() != method.Name() {
		return false
	}
	iface, ok := c.Value.Type().Underlying().(*types.Interface)
	return ok && types.Implements(recv.Type(), iface)
}
