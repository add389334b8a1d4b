package lockcheck

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"
)

// keyOf describes an SSA value as a key expression. What it cannot follow becomes a local: it still equals itself
// inside the function, but nothing elsewhere.
func keyOf(v ssa.Value) keyExpr { return keyAt(v, 0) }

func keyAt(v ssa.Value, depth int) keyExpr {
	if v == nil || depth > maxKeyDepth {
		return keyExpr{}
	}
	at := func(v ssa.Value) keyExpr { return keyAt(v, depth+1) }
	switch v := v.(type) {
	case *ssa.Const:
		return keyExpr{Op: keyLit, Text: constText(v)}
	case *ssa.Parameter:
		return paramKey(v)
	case *ssa.Convert:
		return convertedKey(v.X, v.Type(), depth)
	case *ssa.ChangeType:
		return convertedKey(v.X, v.Type(), depth)
	case *ssa.MakeInterface:
		return keyAt(v.X, depth)
	case *ssa.ChangeInterface:
		return keyAt(v.X, depth)
	case *ssa.BinOp:
		switch v.Op {
		case token.ADD:
			if isString(v.Type()) {
				return concatOf(joined(v, depth))
			}
			fallthrough
		case token.SUB, token.MUL, token.QUO:
			return keyExpr{Op: keyCall, Text: v.Op.String(), Args: []keyExpr{at(v.X), at(v.Y)}}
		}
	case *ssa.Field:
		return keyExpr{Op: keyField, Text: fieldName(v.X.Type(), v.Field), Args: []keyExpr{at(v.X)}}
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			k := callKey(call, depth)
			k.Text += "#" + strconv.Itoa(v.Index)
			return k
		}
	case *ssa.Call:
		return callKey(v, depth)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return loadKey(v, depth)
		}
	}
	return localKey(v)
}

// convertedKey describes a conversion, which changes nothing unless a Duration becomes a plain number.
func convertedKey(v ssa.Value, to types.Type, depth int) keyExpr {
	if isDuration(v.Type()) && !isDuration(to) {
		return keyExpr{Op: keyCall, Text: opRaw, Args: []keyExpr{keyAt(v, depth+1)}}
	}
	return keyAt(v, depth)
}

// loadKey describes what is read from an address.
func loadKey(load *ssa.UnOp, depth int) keyExpr {
	addr := cellOf(load.X)
	switch addr := addr.(type) {
	case *ssa.Global:
		return keyExpr{Op: keyGlobal, Text: addr.Pkg.Pkg.Path() + "." + addr.Name()}
	case *ssa.FieldAddr:
		base := addr.X
		if a, ok := cellOf(base).(*ssa.Alloc); ok {
			if stored, ok := onlyStore(a); ok {
				return keyExpr{Op: keyField, Text: fieldName(base.Type(), addr.Field), Args: []keyExpr{keyAt(stored, depth+1)}}
			}
		}
		return keyExpr{Op: keyField, Text: fieldName(base.Type(), addr.Field), Args: []keyExpr{keyAt(base, depth+1)}}
	case *ssa.Alloc:
		if stored, ok := onlyStore(addr); ok {
			return keyAt(stored, depth+1)
		}
		return localKey(addr)
	}
	return localKey(load)
}

// callKey describes the result of a call: the same function on the same arguments counts as the same key.
// Formatting is spelled out because that is how most keys are built.
func callKey(call *ssa.Call, depth int) keyExpr {
	c := &call.Call
	k, args := keyExpr{Op: keyCall}, c.Args
	switch fn := c.StaticCallee(); {
	case c.IsInvoke():
		k.Text, args = c.Method.FullName(), append([]ssa.Value{c.Value}, args...)
	case fn == nil:
		return localKey(call)
	default:
		k.Text = calleeName(fn)
	}
	if elems, ok := variadicArgs(c); ok {
		if k.Text == "fmt.Sprintf" {
			if text, ok := formatted(args[0], elems, depth); ok {
				return text
			}
		}
		args = slices.Concat(args[:len(args)-1], elems)
	}
	for _, a := range args {
		k.Args = append(k.Args, keyAt(a, depth+1))
	}
	return k
}

// variadicArgs are the arguments for the variadic parameter of a call, if it has one and they are written out.
func variadicArgs(c *ssa.CallCommon) ([]ssa.Value, bool) {
	if !c.Signature().Variadic() {
		return nil, false
	}
	return variadic(c.Args[len(c.Args)-1])
}

// calleeName names a function or method across packages.
func calleeName(fn *ssa.Function) string {
	if obj, ok := fn.Object().(*types.Func); ok {
		return obj.FullName()
	}
	return fn.String()
}

func paramKey(p *ssa.Parameter) keyExpr {
	fn := p.Parent()
	if fn.Parent() != nil {
		return localKey(p) // a parameter of a function literal is nobody's argument
	}
	for i, q := range fn.Params {
		if p == q {
			return keyExpr{Op: keyParam, Text: strconv.Itoa(i)}
		}
	}
	return localKey(p)
}

func localKey(v ssa.Value) keyExpr {
	if v.Parent() == nil {
		return keyExpr{}
	}
	return keyExpr{Op: keyLocal, Text: v.Parent().String() + "." + v.Name()}
}

// fieldName names a field with the type that declares it.
func fieldName(t types.Type, i int) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || i >= s.NumFields() {
		return "?"
	}
	return types.TypeString(t, nil) + "." + s.Field(i).Name()
}

func constText(c *ssa.Const) string {
	if c.Value == nil {
		return "nil"
	}
	if c.Value.Kind() == constant.String {
		return constant.StringVal(c.Value)
	}
	return c.Value.ExactString()
}
