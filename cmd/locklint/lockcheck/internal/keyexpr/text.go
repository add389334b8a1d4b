package keyexpr

import (
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file brings text that is put together into one form, so that "lock:"+id in one function and
// fmt.Sprintf("lock:%s", id) in another are the same key.

// joined are the pieces of a + b + …, however many.
func joined(v ssa.Value, depth int) []Expr {
	if sum, ok := v.(*ssa.BinOp); ok && sum.Op == token.ADD {
		return append(joined(sum.X, depth), joined(sum.Y, depth)...)
	}
	return []Expr{At(v, depth+1)}
}

// verbs are those of a format that take one argument, and the percent sign.
var verbs = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z%]`)

// formatted is fmt.Sprintf as a concatenation, if the format does nothing to its arguments but put them there.
func formatted(format ssa.Value, args []ssa.Value, depth int) (Expr, bool) {
	text, ok := ssax.ConstString(format)
	if !ok {
		return Expr{}, false
	}
	var list []Expr
	for {
		at := verbs.FindStringIndex(text)
		if at == nil {
			break
		}
		list = append(list, Expr{Op: Lit, Text: text[:at[0]]})
		verb := text[at[0]:at[1]]
		text = text[at[1]:]
		if verb == "%%" {
			list = append(list, Expr{Op: Lit, Text: "%"})
			continue
		}
		if len(args) == 0 {
			return Expr{}, false
		}
		arg := At(args[0], depth+1)
		if len(verb) > 2 || strings.IndexByte("sdv", verb[1]) < 0 {
			arg = Expr{Op: Call, Text: verb, Args: []Expr{arg}} // not the text that others make of the value
		}
		list, args = append(list, arg), args[1:]
	}
	if strings.Contains(text, "%") {
		return Expr{}, false
	}
	return Join(append(list, Expr{Op: Lit, Text: text})), len(args) == 0
}

// Join joins expressions: what is joined already is taken apart, constants beside each other become one.
func Join(list []Expr) Expr {
	var flat []Expr
	for _, k := range list {
		parts := []Expr{k}
		if k.Op == Concat {
			parts = k.Args
		}
		for _, p := range parts {
			last := len(flat) - 1
			switch {
			case p.Op == Lit && p.Text == "":
			case p.Op == Lit && last >= 0 && flat[last].Op == Lit:
				flat[last].Text += p.Text
			default:
				flat = append(flat, p)
			}
		}
	}
	switch len(flat) {
	case 0:
		return Expr{Op: Lit}
	case 1:
		return flat[0]
	}
	return Expr{Op: Concat, Args: flat}
}

// SameEachTime reports whether two values of the expression are equal: what a function without arguments returns, as
// one that makes up an id does, is not.
func (k Expr) SameEachTime() bool {
	return !k.Any(func(k Expr) bool {
		return k.Op == Call && !k.Any(func(k Expr) bool {
			return k.Op == Param || k.Op == Local || k.Op == Field || k.Op == Global ||
				k.Op == Lit && k.Text != ""
		})
	})
}

// Quoted is a key as messages name it: its text if it is constant, else its shape with holes.
func (k Expr) Quoted() string {
	var b strings.Builder
	k.writeText(&b)
	return strconv.Quote(b.String())
}

func (k Expr) writeText(b *strings.Builder) {
	switch {
	case k.Op == Lit:
		b.WriteString(k.Text)
	case k.Op == Call && strings.HasSuffix(k.Text, ".KeyText") && len(k.Args) == 1, k.Op == Concat:
		for _, a := range k.Args {
			a.writeText(b)
		}
	default:
		b.WriteString("{…}")
	}
}

// spelled describes what a call makes of numbers and of parts, so that all ways to spell a key are the same.
func spelled(name string, args []ssa.Value, depth int) (Expr, bool) {
	switch name {
	case "strconv.Itoa":
		return At(args[0], depth), true
	case "strconv.FormatInt", "strconv.FormatUint":
		return At(args[0], depth), ssax.IntOf(args[1]) == 10
	case "strings.Join":
		parts, known := ssax.Variadic(args[0])
		between, isConst := ssax.ConstString(args[1])
		if !known || !isConst {
			return Expr{}, false
		}
		var list []Expr
		for i, p := range parts {
			if i > 0 {
				list = append(list, Expr{Op: Lit, Text: between})
			}
			list = append(list, At(p, depth+1))
		}
		return Join(list), true
	}
	return Expr{}, false
}
