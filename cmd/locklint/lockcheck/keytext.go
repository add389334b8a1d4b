package lockcheck

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file brings text that is put together into one form, so that "lock:"+id in one function and
// fmt.Sprintf("lock:%s", id) in another are the same key.

// joined are the pieces of a + b + …, however many.
func joined(v ssa.Value, depth int) []keyExpr {
	if sum, ok := v.(*ssa.BinOp); ok && sum.Op == token.ADD {
		return append(joined(sum.X, depth), joined(sum.Y, depth)...)
	}
	return []keyExpr{keyAt(v, depth+1)}
}

// formatted is fmt.Sprintf as a concatenation, if the format does nothing to its arguments but put them there.
func formatted(format ssa.Value, args []ssa.Value, depth int) (keyExpr, bool) {
	text, ok := constString(format)
	if !ok {
		return keyExpr{}, false
	}
	var list []keyExpr
	for {
		at := strings.IndexByte(text, '%')
		if at < 0 {
			break
		}
		if at+1 == len(text) || strings.IndexByte("sdv%", text[at+1]) < 0 {
			return keyExpr{}, false
		}
		list = append(list, keyExpr{Op: keyLit, Text: text[:at]})
		if text[at+1] == '%' {
			list = append(list, keyExpr{Op: keyLit, Text: "%"})
		} else {
			if len(args) == 0 {
				return keyExpr{}, false
			}
			list, args = append(list, keyAt(args[0], depth+1)), args[1:]
		}
		text = text[at+2:]
	}
	return concatOf(append(list, keyExpr{Op: keyLit, Text: text})), len(args) == 0
}

// concatOf joins expressions: what is joined already is taken apart, constants beside each other become one.
func concatOf(list []keyExpr) keyExpr {
	var flat []keyExpr
	for _, k := range list {
		parts := []keyExpr{k}
		if k.Op == keyConcat {
			parts = k.Args
		}
		for _, p := range parts {
			last := len(flat) - 1
			switch {
			case p.Op == keyLit && p.Text == "":
			case p.Op == keyLit && last >= 0 && flat[last].Op == keyLit:
				flat[last].Text += p.Text
			default:
				flat = append(flat, p)
			}
		}
	}
	switch len(flat) {
	case 0:
		return keyExpr{Op: keyLit}
	case 1:
		return flat[0]
	}
	return keyExpr{Op: keyConcat, Args: flat}
}
