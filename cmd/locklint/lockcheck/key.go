package lockcheck

import (
	"slices"
	"strconv"
	"strings"
)

// A keyExpr is what a key is made of, reduced to what two functions can have in common: literals, parameters, fields,
// package variables and calls. Equal expressions of one function mean the same key as far as anyone can tell without
// running it. It crosses packages inside facts, hence the exported fields.
type keyExpr struct {
	Op   keyOp
	Text string
	Args []keyExpr
}

type keyOp uint8

const (
	keyUnknown keyOp = iota // nothing is known; equal to nothing, not even itself
	keyLit                  // Text is the constant
	keyParam                // Text is the index of the function's parameter, the receiver counted
	keyLocal                // Text names a value inside one function; never leaves its package
	keyConcat               // Args joined
	keyCall                 // Text is the function called with Args
	keyField                // Text is the field selected from Args[0]
	keyGlobal               // Text is the package variable
)

// maxKeyDepth bounds the expressions that are followed: real keys are two or three levels deep.
const maxKeyDepth = 6

// known reports whether every part of the expression is known.
func (k keyExpr) known() bool {
	return k.Op != keyUnknown && !slices.ContainsFunc(k.Args, func(a keyExpr) bool { return !a.known() })
}

// String identifies the expression within its function.
func (k keyExpr) String() string { return k.format(false) }

// shape identifies the expression across functions: parameters and locals, whose names say nothing elsewhere, are
// all the same.
func (k keyExpr) shape() string { return k.format(true) }

func (k keyExpr) format(shape bool) string {
	var b strings.Builder
	k.write(&b, shape)
	return b.String()
}

func (k keyExpr) write(b *strings.Builder, shape bool) {
	switch k.Op {
	case keyUnknown:
		b.WriteByte('?')
		return
	case keyLit:
		b.WriteString(strconv.Quote(k.Text))
		return
	case keyParam, keyLocal:
		b.WriteByte('$')
		if !shape {
			b.WriteString(k.Text)
		}
		return
	case keyConcat:
		b.WriteByte('+')
	case keyField:
		b.WriteByte('.')
	case keyGlobal:
		b.WriteByte('@')
	}
	b.WriteString(k.Text)
	b.WriteByte('(')
	for _, a := range k.Args {
		a.write(b, shape)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

// any reports whether pred holds for the expression or a part of it.
func (k keyExpr) any(pred func(keyExpr) bool) bool {
	return pred(k) || slices.ContainsFunc(k.Args, func(a keyExpr) bool { return a.any(pred) })
}

// distinctive reports whether the expression says more than "some argument", so that finding it in two functions
// means something.
func (k keyExpr) distinctive() bool {
	return k.any(func(k keyExpr) bool {
		switch k.Op {
		case keyLit:
			return len(k.Text) >= 3
		case keyField, keyGlobal:
			return true
		case keyCall:
			return k.Text != "fmt.Sprintf" && k.Text != "fmt.Sprint"
		}
		return false
	})
}

// portable reports whether the expression means something outside its function.
func (k keyExpr) portable() bool {
	return k.known() && !k.any(func(k keyExpr) bool { return k.Op == keyLocal })
}

// bind replaces parameters by what a caller passes for them.
func (k keyExpr) bind(args []keyExpr) keyExpr {
	if k.Op == keyParam {
		i, err := strconv.Atoi(k.Text)
		if err != nil || i >= len(args) {
			return keyExpr{}
		}
		return args[i]
	}
	if len(k.Args) == 0 {
		return k
	}
	bound := make([]keyExpr, len(k.Args))
	for i, a := range k.Args {
		bound[i] = a.bind(args)
	}
	if k.Op == keyConcat {
		return concatOf(bound)
	}
	return keyExpr{k.Op, k.Text, bound}
}

// depth is the number of levels of the expression.
func (k keyExpr) depth() int {
	d := 0
	for _, a := range k.Args {
		d = max(d, a.depth())
	}
	return d + 1
}
