package rediscmd

import (
	"go/types"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file recognises commands in the text form that Do takes: a command's name and its arguments.

// noExpiry is the time to live of a lock that stays for ever.
var noExpiry = keyexpr.Expr{Op: keyexpr.Lit, Text: "0"}

// commandByName builds the commands that a name and its arguments stand for.
func commandByName(name string, args []ssa.Value) []*Command {
	name = strings.ToUpper(name)
	if len(args) == 0 {
		return nil
	}
	one := func(o ops.Op) []*Command { return []*Command{{Op: o, Name: name, Key: keyexpr.Of(args[0])}} }
	switch name {
	case "SETNX":
		return setnxCommand(args)
	case "SET":
		return setCommand(args)
	case "DEL", "UNLINK":
		return eachKey(ops.Delete, name, args)
	case "GETDEL":
		return one(ops.Delete)
	case "DELEX", "DELIFEQ":
		cmds := one(ops.CompareDel)
		cmds[0].Compares = true
		return cmds
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		cmds := one(ops.Expire)
		if len(args) > 1 {
			cmds[0].setTTL(args[1], ops.UnitOf(name))
		}
		return cmds
	case "GET":
		return one(ops.Read)
	case "GETSET":
		cmds := one(ops.Swap)
		if len(args) > 1 {
			cmds[0].Value = keyexpr.Of(args[1])
		}
		return cmds
	case "INCR":
		return one(ops.Count)
	case "DECR":
		return one(ops.Uncount)
	case "WATCH":
		return eachKey(ops.Watch, name, args)
	case "EVAL", "EVALSHA":
		return evalCommand(name, args)
	}
	return nil
}

// answered says where the outcome of an acquire arrives with clients that answer with an object.
func answered(cmds []*Command) []*Command {
	for _, c := range cmds {
		switch c.Name {
		case "SETNX":
			c.Reply = ReplyMessage
		case "SET NX":
			c.Reply = ReplyCmd
		}
	}
	return cmds
}

// isNumber reports whether an argument is a number, whichever.
func isNumber(v ssa.Value) bool {
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	b, ok := v.Type().Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// eachKey is one command for each key of a command that takes several.
func eachKey(o ops.Op, name string, keys []ssa.Value) []*Command {
	var cmds []*Command
	for _, k := range keys {
		cmds = append(cmds, &Command{Op: o, Name: name, Key: keyexpr.Of(k), Guarded: ssax.IsElement(k)})
	}
	return cmds
}

// setToken notes the value that an acquire sets the key to.
func (c *Command) setToken(v ssa.Value) { c.Value, c.Token = keyexpr.Of(v), v }

// setTTL notes the time that a command is given.
func (c *Command) setTTL(v ssa.Value, unit time.Duration) {
	c.TTL, c.Unit, c.TTLValue = ttlOf(v, unit), unit, v
}

// setnxCommand recognises SETNX key value, and what people add to it because SET takes it.
func setnxCommand(args []ssa.Value) []*Command {
	c := &Command{Op: ops.Acquire, Name: "SETNX", Key: keyexpr.Of(args[0]), TTL: noExpiry}
	if len(args) > 1 {
		c.setToken(args[1])
	}
	if len(args) != 2 {
		c.Wrong = "SETNX takes a key and a value and nothing else"
	}
	return []*Command{c}
}

// setCommand recognises SET key value … NX. Options that are not constants leave the command unrecognised.
func setCommand(args []ssa.Value) []*Command {
	if len(args) < 2 {
		return nil
	}
	c := &Command{Op: ops.Acquire, Name: "SET NX", Key: keyexpr.Of(args[0]), TTL: noExpiry}
	c.setToken(args[1])
	nx := false
	unread := false // the last option is one that only the running program knows; a number may follow
	for i := 2; i < len(args); i++ {
		text, ok := ssax.ConstString(args[i])
		if !ok {
			_, isConst := ssax.ConstOf(args[i])
			number := isConst || isNumber(args[i])
			if number && !unread {
				c.Wrong = "SET has no option that is a number; a time follows EX or PX"
			}
			if !number {
				c.TTL = keyexpr.Expr{}
			}
			unread = !number
			continue
		}
		switch option := strings.ToUpper(text); option {
		case "NX":
			nx = true
		case "EX", "PX", "EXAT", "PXAT":
			i++
			if i == len(args) {
				c.Wrong = option + " is not followed by a time"
				break
			}
			c.setTTL(args[i], ops.UnitOf(option))
		}
	}
	if !nx {
		return nil
	}
	return []*Command{c}
}
