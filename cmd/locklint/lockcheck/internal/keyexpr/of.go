package keyexpr

import (
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Of describes an SSA value as a key expression. What it cannot follow becomes a local: it still equals itself
// inside the function, but nothing elsewhere.
func Of(v ssa.Value) Expr { return At(v, 0) }

// At is Of for a part of an expression, depth levels down.
func At(v ssa.Value, depth int) Expr {
	if v == nil {
		return Expr{}
	}
	if _, isConst := v.(*ssa.Const); depth > MaxDepth && !isConst {
		return OfLocal(v) // still equal to itself
	}
	at := func(v ssa.Value) Expr { return At(v, depth+1) }
	switch v := v.(type) {
	case *ssa.Const:
		return Expr{Op: Lit, Text: constText(v)}
	case *ssa.Parameter:
		return paramKey(v, depth)
	case *ssa.Convert:
		return convertedKey(v.X, v.Type(), depth)
	case *ssa.ChangeType:
		return convertedKey(v.X, v.Type(), depth)
	case *ssa.MakeInterface:
		return At(v.X, depth)
	case *ssa.ChangeInterface:
		return At(v.X, depth)
	case *ssa.BinOp:
		switch v.Op {
		case token.ADD:
			if ssax.IsString(v.Type()) {
				return Join(joined(v, depth))
			}
			fallthrough
		case token.SUB, token.MUL, token.QUO:
			return Expr{Op: Call, Text: v.Op.String(), Args: []Expr{at(v.X), at(v.Y)}}
		}
	case *ssa.Field:
		return Expr{Op: Field, Text: ssax.FieldName(v.X.Type(), v.Field), Args: []Expr{at(v.X)}}
	case *ssa.Extract:
		if next, ok := v.Tuple.(*ssa.Next); ok && v.Index == 1 {
			return rangedKey(v, next, depth)
		}
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
	return OfLocal(v)
}

// convertedKey describes a conversion, which changes nothing unless a Duration becomes a plain number.
func convertedKey(v ssa.Value, to types.Type, depth int) Expr {
	if ssax.IsDuration(v.Type()) && !ssax.IsDuration(to) {
		return Expr{Op: Call, Text: Raw, Args: []Expr{At(v, depth+1)}}
	}
	return At(v, depth)
}

// loadKey describes what is read from an address.
func loadKey(load *ssa.UnOp, depth int) Expr {
	addr := ssax.CellOf(load.X)
	switch addr := addr.(type) {
	case *ssa.Global:
		return Expr{Op: Global, Text: addr.Pkg.Pkg.Path() + "." + addr.Name()}
	case *ssa.FieldAddr:
		return fieldKey(addr, depth)
	case *ssa.IndexAddr:
		list := At(addr.X, depth+1)
		if list.Op != Param && list.Op != Field && list.Op != Global {
			return elementKey(load, addr.X, depth)
		}
		index := ""
		if c, ok := addr.Index.(*ssa.Const); ok {
			index = constText(c)
		}
		return Expr{Op: Each, Text: index, Args: []Expr{list}}
	case *ssa.Alloc:
		stored, ok := ssax.OnlyStore(addr)
		if !ok {
			stored, ok = ssax.StoredBefore(addr, load)
		}
		if ok {
			return At(stored, depth+1)
		}
		return OfLocal(addr)
	}
	return OfLocal(load)
}

// fieldKey describes what a field holds, also one of a struct that is a field itself.
func fieldKey(addr *ssa.FieldAddr, depth int) Expr {
	k := Expr{Op: Field, Text: ssax.FieldName(addr.X.Type(), addr.Field)}
	switch base := ssax.CellOf(addr.X).(type) {
	case *ssa.Alloc:
		if stored, ok := ssax.OnlyStore(base); ok {
			k.Args = []Expr{At(stored, depth+1)}
			return k
		}
	case *ssa.FieldAddr:
		if depth < MaxDepth {
			k.Args = []Expr{fieldKey(base, depth+1)}
			return k
		}
	}
	k.Args = []Expr{At(addr.X, depth+1)}
	return k
}

// callKey describes the result of a call: the same function on the same arguments counts as the same key.
// Formatting is spelled out because that is how most keys are built.
func callKey(call *ssa.Call, depth int) Expr {
	c := &call.Call
	k, args := Expr{Op: Call}, c.Args
	switch fn := c.StaticCallee(); {
	case c.IsInvoke():
		k.Text, args = c.Method.FullName(), append([]ssa.Value{c.Value}, args...)
	case isLen(c):
		k.Text = "len"
	case fn == nil:
		return chosenKey(call, depth)
	default:
		k.Text = ssax.CalleeName(fn)
	}
	if elems, ok := variadicArgs(c); ok {
		if k.Text == "fmt.Sprintf" {
			if text, ok := formatted(args[0], elems, depth); ok {
				return text
			}
		}
		args = slices.Concat(args[:len(args)-1], elems)
		if k.Text == "fmt.Sprint" && len(elems) == 1 {
			return At(elems[0], depth)
		}
	}
	if text, ok := spelled(k.Text, args, depth); ok {
		return text
	}
	for _, a := range args {
		k.Args = append(k.Args, At(a, depth+1))
	}
	return k
}

// isLen reports whether a call asks for a length, which is the same for the same list.
func isLen(c *ssa.CallCommon) bool {
	b, ok := c.Value.(*ssa.Builtin)
	return ok && b.Name() == "len"
}

// chosenKey describes the result of a function that a field or a package variable holds, as one that makes keys.
func chosenKey(call *ssa.Call, depth int) Expr {
	maker := Expr{}
	if _, isLoad := call.Call.Value.(*ssa.UnOp); isLoad && len(call.Call.Args) > 0 {
		maker = At(call.Call.Value, depth+1)
	}
	if maker.Op != Field && maker.Op != Global {
		return OfLocal(call)
	}
	k := Expr{Op: Call, Text: maker.Text, Args: slices.Clone(maker.Args)}
	for _, a := range call.Call.Args {
		k.Args = append(k.Args, At(a, depth+1))
	}
	return k
}

// variadicArgs are the arguments for the variadic parameter of a call, if it has one and they are written out.
func variadicArgs(c *ssa.CallCommon) ([]ssa.Value, bool) {
	if !c.Signature().Variadic() {
		return nil, false
	}
	return ssax.Variadic(c.Args[len(c.Args)-1])
}

func paramKey(p *ssa.Parameter, depth int) Expr {
	fn := p.Parent()
	i := slices.Index(fn.Params, p)
	if fn.Parent() != nil {
		// A literal that is called, deferred or started where it stands is given its arguments there.
		if call, ok := ssax.RunnerOf(fn).(ssa.CallInstruction); ok && i < len(call.Common().Args) {
			return At(call.Common().Args[i], depth+1)
		}
		return OfLocal(p)
	}
	return Expr{Op: Param, Text: strconv.Itoa(i)}
}

// OfLocal describes a value by nothing but its name.
func OfLocal(v ssa.Value) Expr {
	if v.Parent() == nil {
		return Expr{}
	}
	return Expr{Op: Local, Text: v.Parent().String() + "." + v.Name()}
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
