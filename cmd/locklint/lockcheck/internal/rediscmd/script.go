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
	if chosen := ssax.ByName(v); chosen != nil {
		return textOf(chosen)
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
	var each []keyexpr.Expr
	for _, k := range keys {
		each = append(each, keyexpr.Of(k))
	}
	return luaBinding{s, env, keys, each, args}.commands(effects)
}

// listCommands is commands for keys that are not written out: those that the script does the same to.
func (s scriptText) listCommands(list ssa.Value, args []ssa.Value) []*Command {
	effects, env, ok := lua.Effects(s.text)
	if !s.known || !ok {
		return nil
	}
	return luaBinding{s, env, nil, elementsOf(list), args}.commands(effects)
}

// elementsOf describes the elements of a list: of one that a function is given any, of one that it makes those.
func elementsOf(list ssa.Value) []keyexpr.Expr {
	if k := keyexpr.Of(list); k.Op == keyexpr.Param || k.Op == keyexpr.Field {
		return []keyexpr.Expr{{Op: keyexpr.Each, Args: []keyexpr.Expr{k}}}
	}
	elements, _ := keyexpr.Elements(list)
	return elements
}

// commands are the commands of a script by what it does.
func (b luaBinding) commands(effects []lua.Effect) []*Command {
	var cmds []*Command
	for _, e := range effects {
		if !e.Key.IsEach() {
			cmds = append(cmds, b.command(e, b.key(e.Key, 0))...)
			continue
		}
		for _, k := range b.each {
			cmds = append(cmds, b.command(e, k)...)
		}
	}
	return cmds
}

// command is what a script does to one key, nothing if nobody knows which.
func (b luaBinding) command(e lua.Effect, key keyexpr.Expr) []*Command {
	if !key.Known() {
		return nil
	}
	c := &Command{Op: e.Op, Name: "EVAL", Key: key, Compares: e.Op == ops.CompareDel && !e.Elsewhere}
	if e.Value != nil {
		c.Value = b.key(e.Value, 0)
	}
	switch {
	case e.TTL != nil:
		if v := b.value(e.TTL, 0); v != nil {
			c.setTTL(v, e.Unit)
		} else {
			c.TTL, c.Unit = b.key(e.TTL, 0), e.Unit
		}
	case e.Op == ops.Acquire:
		c.TTL = noExpiry
	}
	return []*Command{c}
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
	if chosen := ssax.ByName(v); chosen != nil {
		v = chosen
	}
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
