package lockcheck

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A method is a call in the one form that recognisers want: the receiver apart, a leading context dropped.
type method struct {
	obj  *types.Func
	recv ssa.Value // nil for functions
	args []ssa.Value
	call *ssa.CallCommon
}

// methodOf normalises a call; calls of function values have no method.
func methodOf(c *ssa.CallCommon) (method, bool) {
	m := method{call: c}
	if c.IsInvoke() {
		m.obj, m.recv, m.args = c.Method, c.Value, c.Args
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
		m.obj, m.args = obj, c.Args
		if obj.Signature().Recv() != nil {
			if len(c.Args) == 0 {
				return m, false
			}
			m.recv, m.args = c.Args[0], c.Args[1:]
		}
	}
	if params := m.obj.Signature().Params(); params.Len() > 0 && len(m.args) > 0 && isContext(params.At(0).Type()) {
		m.args = m.args[1:]
	}
	return m, true
}

// arg returns an argument, nil if there are not so many.
func (m method) arg(i int) ssa.Value {
	if i < len(m.args) {
		return m.args[i]
	}
	return nil
}

// rest returns the elements of the variadic parameter, which is argument i.
func (m method) rest(i int) []ssa.Value {
	v := m.arg(i)
	if v == nil || !m.obj.Signature().Variadic() {
		return nil
	}
	elems, _ := variadic(v)
	return elems
}

// result returns the type of the only result, nil if there is another number of them.
func (m method) result() types.Type {
	if res := m.obj.Signature().Results(); res.Len() == 1 {
		return res.At(0).Type()
	}
	return nil
}
