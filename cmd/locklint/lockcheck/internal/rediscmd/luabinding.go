package rediscmd

import (
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/lua"
)

// A luaBinding translates what a script speaks of into what the program hands to it.
type luaBinding struct {
	scriptText
	env  map[string]*lua.Expr
	keys []ssa.Value    // those that are written out
	each []keyexpr.Expr // what a loop over the keys runs over
	args []ssa.Value
}

func (b luaBinding) key(x *lua.Expr, depth int) keyexpr.Expr {
	if depth > keyexpr.MaxDepth {
		return keyexpr.Expr{}
	}
	switch {
	case x.Kind == "str":
		return b.unmark(x.Text)
	case x.Kind == "num":
		return keyexpr.Expr{Op: keyexpr.Lit, Text: x.Text}
	case x.Kind == "name" && strings.Contains(x.Text, markStart):
		return b.unmark(x.Text)
	case x.Kind == "name" && b.env[x.Text] != nil && b.env[x.Text] != x:
		return b.key(b.env[x.Text], depth+1)
	case x.Kind == "bin" && x.Text == "..":
		return keyexpr.Join([]keyexpr.Expr{b.key(x.Args[0], depth+1), b.key(x.Args[1], depth+1)})
	case x.Kind == "call" && len(x.Args) == 2 && (x.Args[0].Text == "tostring" || x.Args[0].Text == "tonumber"):
		return b.key(x.Args[1], depth+1)
	}
	if v := b.value(x, depth); v != nil {
		return keyexpr.Of(v)
	}
	return keyexpr.Expr{}
}

// value is the Go value that an expression of a script is, nil for none.
func (b luaBinding) value(x *lua.Expr, depth int) ssa.Value {
	switch {
	case depth > keyexpr.MaxDepth:
	case x.Kind == "name" && b.env[x.Text] != nil && b.env[x.Text] != x:
		return b.value(b.env[x.Text], depth+1)
	case x.Kind == "call" && len(x.Args) == 2 && (x.Args[0].Text == "tostring" || x.Args[0].Text == "tonumber"):
		return b.value(x.Args[1], depth+1)
	case x.Kind == "index" && x.Args[0].Kind == "name" && x.Args[1].Kind == "num":
		list := b.keys
		if x.Args[0].Text == "ARGV" {
			list = b.args
		} else if x.Args[0].Text != "KEYS" {
			return nil
		}
		if i, err := strconv.Atoi(x.Args[1].Text); err == nil && 0 < i && i <= len(list) {
			return list[i-1]
		}
	}
	return nil
}
