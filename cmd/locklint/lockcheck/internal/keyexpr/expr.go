// Package keyexpr describes what keys, values and times are made of, so that two functions can be compared.
package keyexpr

import (
	"slices"
	"strconv"
	"strings"
)

// A Expr is what a key is made of, reduced to what two functions can have in common: literals, parameters, fields,
// package variables and calls. Equal expressions of one function mean the same key as far as anyone can tell without
// running it. It crosses packages inside facts, hence the exported fields.
type Expr struct {
	Op   Op
	Text string
	Args []Expr
}

// An Op says what an expression is.
type Op uint8

const (
	Unknown Op = iota // nothing is known; equal to nothing, not even itself
	Lit               // Text is the constant
	Param             // Text is the index of the function's parameter, the receiver counted
	Local             // Text names a value inside one function; never leaves its package
	Concat            // Args joined
	Call              // Text is the function called with Args
	Field             // Text is the field selected from Args[0]
	Global            // Text is the package variable
	Each              // an element of the list Args[0]: Text is its index, "" for any
)

// MaxDepth bounds the expressions that are followed: real keys are two or three levels deep.
const MaxDepth = 6

// Known reports whether every part of the expression is known.
func (k Expr) Known() bool {
	return k.Op != Unknown && !slices.ContainsFunc(k.Args, func(a Expr) bool { return !a.Known() })
}

// String identifies the expression within its function.
func (k Expr) String() string { return k.format(false) }

// Shape identifies the expression across functions: parameters and locals, whose names say nothing elsewhere, are
// all the same.
func (k Expr) Shape() string { return k.format(true) }

func (k Expr) format(shape bool) string {
	var b strings.Builder
	k.write(&b, shape)
	return b.String()
}

func (k Expr) write(b *strings.Builder, shape bool) {
	switch k.Op {
	case Unknown:
		b.WriteByte('?')
		return
	case Lit:
		b.WriteString(strconv.Quote(k.Text))
		return
	case Param, Local:
		b.WriteByte('$')
		if !shape {
			b.WriteString(k.Text)
		}
		return
	case Concat:
		b.WriteByte('+')
	case Field:
		b.WriteByte('.')
	case Global:
		b.WriteByte('@')
	case Each:
		b.WriteByte('*')
	}
	b.WriteString(k.Text)
	b.WriteByte('(')
	for _, a := range k.Args {
		a.write(b, shape)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}

// Any reports whether pred holds for the expression or a part of it.
func (k Expr) Any(pred func(Expr) bool) bool {
	return pred(k) || slices.ContainsFunc(k.Args, func(a Expr) bool { return a.Any(pred) })
}

// Distinctive reports whether the expression says more than "some argument", so that finding it in two functions
// means something.
func (k Expr) Distinctive() bool {
	return k.Any(func(k Expr) bool {
		switch k.Op {
		case Lit:
			return len(k.Text) >= 3
		case Field, Global:
			return true
		case Call:
			return k.Text != "fmt.Sprintf" && k.Text != "fmt.Sprint"
		}
		return false
	})
}

// Portable reports whether the expression means something outside its function.
func (k Expr) Portable() bool {
	return k.Known() && !k.Any(func(k Expr) bool { return k.Op == Local })
}

// Bind replaces parameters by what a caller passes for them.
func (k Expr) Bind(args []Expr) Expr {
	if k.Op == Param {
		i, err := strconv.Atoi(k.Text)
		if err != nil || i >= len(args) {
			return Expr{}
		}
		return args[i]
	}
	if len(k.Args) == 0 {
		return k
	}
	bound := make([]Expr, len(k.Args))
	for i, a := range k.Args {
		bound[i] = a.Bind(args)
	}
	if k.Op == Concat {
		return Join(bound)
	}
	return Expr{k.Op, k.Text, bound}
}

// Element replaces the elements of a list that is a parameter by one that a caller has put into it.
func (k Expr) Element(param string, by Expr) Expr {
	if k.Op == Each && k.Args[0].Op == Param && k.Args[0].Text == param {
		return by
	}
	if len(k.Args) == 0 {
		return k
	}
	args := make([]Expr, len(k.Args))
	for i, a := range k.Args {
		args[i] = a.Element(param, by)
	}
	if k.Op == Concat {
		return Join(args)
	}
	return Expr{k.Op, k.Text, args}
}

// ListParam is the parameter that is a list of which the expression has an element, "" if there is none.
func (k Expr) ListParam() string {
	if k.Op == Each && k.Args[0].Op == Param {
		return k.Args[0].Text
	}
	for _, a := range k.Args {
		if p := a.ListParam(); p != "" {
			return p
		}
	}
	return ""
}

// Within is an expression of no more levels than a limit: what lies deeper is a local with the same text, so that equal
// expressions stay equal.
func (k Expr) Within(levels int) Expr {
	if k.Depth() <= levels {
		return k
	}
	if levels <= 1 {
		if !k.Known() {
			return Expr{}
		}
		return Expr{Op: Local, Text: k.String()}
	}
	out := Expr{k.Op, k.Text, make([]Expr, len(k.Args))}
	for i, a := range k.Args {
		out.Args[i] = a.Within(levels - 1)
	}
	return out
}

// Depth is the number of levels of the expression.
func (k Expr) Depth() int {
	d := 0
	for _, a := range k.Args {
		d = max(d, a.Depth())
	}
	return d + 1
}
