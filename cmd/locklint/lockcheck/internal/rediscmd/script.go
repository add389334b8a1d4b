package rediscmd

import (
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/lua"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file brings Lua and Go together: which text a script has, and which keys of the Go side it works on. What a
// script does to a key, luaflow.go says.

// The marks around the number of a Go value inside a script's text. One outside quotes passes for a name.
const (
	markStart = "__lockgen_value_"
	markEnd   = "__"
)

// A scriptText is the source of a script. Values that only the running program knows stand in it as marks.
type scriptText struct {
	text  string
	parts []keyexpr.Expr
	known bool
}

// textOf is the source of a script as a string value: a constant, several joined together, a package variable that
// starts as one or that a file is embedded into.
func textOf(v ssa.Value) scriptText {
	if v == nil {
		return scriptText{}
	}
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	if load, ok := v.(*ssa.UnOp); ok {
		if g, ok := ssax.CellOf(load.X).(*ssa.Global); ok {
			if init := ssax.GlobalInit(g); init != nil {
				return textOf(init)
			}
			text, ok := ssax.Embedded(g)
			return scriptText{text: text, known: ok}
		}
	}
	s := scriptText{}
	s.add(keyexpr.Of(v))
	s.known = strings.Contains(s.text, "redis.") || strings.Contains(s.text, "server.")
	return s
}

func (s *scriptText) add(k keyexpr.Expr) {
	switch k.Op {
	case keyexpr.Lit:
		s.text += k.Text
	case keyexpr.Concat:
		for _, a := range k.Args {
			s.add(a)
		}
	default:
		s.text += markStart + strconv.Itoa(len(s.parts)) + markEnd
		s.parts = append(s.parts, k)
	}
}

// unmark is the expression of a text with marks.
func (s *scriptText) unmark(text string) keyexpr.Expr {
	var list []keyexpr.Expr
	for text != "" {
		plain, rest, found := strings.Cut(text, markStart)
		list = append(list, keyexpr.Expr{Op: keyexpr.Lit, Text: plain})
		if !found {
			break
		}
		number, after, _ := strings.Cut(rest, markEnd)
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(s.parts) {
			return keyexpr.Expr{}
		}
		list, text = append(list, s.parts[i]), after
	}
	return keyexpr.Join(list)
}

// commands are the commands that a run of the script issues. A script that cannot be read is taken for a correct
// release of all its keys: silence is better than a guess.
func (s scriptText) commands(keys, args []ssa.Value) []*Command {
	effects, env, ok := lua.Effects(s.text)
	if !s.known || !ok {
		return eachKey(ops.CompareDel, "EVAL", keys)
	}
	b := luaBinding{s, env, keys, args}
	var cmds []*Command
	for _, e := range effects {
		c := &Command{Op: e.Op, Name: "EVAL", Key: b.key(e.Key, 0), Compares: e.Op == ops.CompareDel && !e.Elsewhere}
		if e.Value != nil {
			c.Value = b.key(e.Value, 0)
		}
		switch {
		case e.TTL != nil:
			c.TTL, c.Unit = b.key(e.TTL, 0), e.Unit
		case e.Op == ops.Acquire:
			c.TTL = noExpiry
		}
		if c.Key.Known() {
			cmds = append(cmds, c)
		}
	}
	return cmds
}

// A luaBinding translates what a script speaks of into what the program hands to it.
type luaBinding struct {
	scriptText
	env        map[string]*lua.Expr
	keys, args []ssa.Value
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
	case x.Kind == "index" && x.Args[0].Kind == "name" && x.Args[1].Kind == "num":
		list := b.keys
		if x.Args[0].Text == "ARGV" {
			list = b.args
		} else if x.Args[0].Text != "KEYS" {
			return keyexpr.Expr{}
		}
		if i, err := strconv.Atoi(x.Args[1].Text); err == nil && 0 < i && i <= len(list) {
			return keyexpr.Of(list[i-1])
		}
	}
	return keyexpr.Expr{}
}

// sourceOf finds the source that a script value was made from.
func sourceOf(v ssa.Value) scriptText {
	call := scriptMaker(v)
	if call == nil {
		return scriptText{}
	}
	for _, a := range call.Call.Args { // redigo has the number of keys before the text, rueidis options behind it
		if ssax.IsString(a.Type()) {
			return textOf(a)
		}
	}
	return scriptText{}
}

// scriptMaker is the call of NewScript that made a script value: on the spot, or once for a variable. Nil if it is
// not in sight.
func scriptMaker(v ssa.Value) *ssa.Call {
	switch v := v.(type) {
	case *ssa.Call:
		if m, ok := ssax.MethodOf(&v.Call); ok && m.Recv == nil && strings.HasPrefix(m.Obj.Name(), "New") {
			return v
		}
	case *ssa.UnOp:
		switch addr := ssax.CellOf(v.X).(type) {
		case *ssa.Global:
			if init := ssax.GlobalInit(addr); init != nil {
				return scriptMaker(init)
			}
		case *ssa.Alloc:
			if stored, ok := ssax.OnlyStore(addr); ok {
				return scriptMaker(stored)
			}
		}
	}
	return nil
}

// evalCommand recognises EVAL script numkeys key … in the form that Do takes.
func evalCommand(name string, args []ssa.Value) []*Command {
	if len(args) < 3 {
		return nil
	}
	keys := ssax.IntOf(args[1])
	if keys < 0 || keys > len(args)-2 {
		keys = 1
	}
	s := scriptText{}
	if name == "EVAL" {
		s = textOf(args[0])
	}
	return s.commands(args[2:2+keys], args[2+keys:])
}
