package lockcheck

import (
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// This file recognises commands in the text form that Do takes: a command's name and its arguments.

// noExpiry is the time to live of a lock that stays for ever.
var noExpiry = keyExpr{Op: keyLit, Text: "0"}

// commandByName builds the commands that a name and its arguments stand for.
func commandByName(name string, args []ssa.Value) []*command {
	name = strings.ToUpper(name)
	if len(args) == 0 {
		return nil
	}
	one := func(o op) []*command { return []*command{{op: o, name: name, key: keyOf(args[0])}} }
	switch name {
	case "SETNX":
		return setnxCommand(args)
	case "SET":
		return setCommand(args)
	case "DEL", "UNLINK":
		return eachKey(opDelete, name, args)
	case "GETDEL":
		return one(opDelete)
	case "DELEX", "DELIFEQ":
		cmds := one(opCompareDel)
		cmds[0].compares = true
		return cmds
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		cmds := one(opExpire)
		if len(args) > 1 {
			cmds[0].setTTL(args[1], unitOf(name))
		}
		return cmds
	case "GET":
		return one(opRead)
	case "GETSET":
		cmds := one(opSwap)
		if len(args) > 1 {
			cmds[0].value = keyOf(args[1])
		}
		return cmds
	case "INCR":
		return one(opCount)
	case "DECR":
		return one(opUncount)
	case "WATCH":
		return eachKey(opWatch, name, args)
	case "EVAL", "EVALSHA":
		return evalCommand(name, args)
	}
	return nil
}

// answered says where the outcome of an acquire arrives with clients that answer with an object.
func answered(cmds []*command) []*command {
	for _, c := range cmds {
		switch c.name {
		case "SETNX":
			c.reply = replyMessage
		case "SET NX":
			c.reply = replyCmd
		}
	}
	return cmds
}

// eachKey is one command for each key of a command that takes several.
func eachKey(o op, name string, keys []ssa.Value) []*command {
	var cmds []*command
	for _, k := range keys {
		cmds = append(cmds, &command{op: o, name: name, key: keyOf(k)})
	}
	return cmds
}

// setTTL notes the time that a command is given.
func (c *command) setTTL(v ssa.Value, unit time.Duration) {
	c.ttl, c.unit, c.ttlValue = ttlOf(v, unit), unit, v
}

// setnxCommand recognises SETNX key value, and what people add to it because SET takes it.
func setnxCommand(args []ssa.Value) []*command {
	c := &command{op: opAcquire, name: "SETNX", key: keyOf(args[0]), ttl: noExpiry}
	if len(args) > 1 {
		c.value = keyOf(args[1])
	}
	if len(args) != 2 {
		c.wrong = "SETNX takes a key and a value and nothing else"
	}
	return []*command{c}
}

// setCommand recognises SET key value … NX. Options that are not constants leave the command unrecognised.
func setCommand(args []ssa.Value) []*command {
	if len(args) < 2 {
		return nil
	}
	c := &command{op: opAcquire, name: "SET NX", key: keyOf(args[0]), value: keyOf(args[1]), ttl: noExpiry}
	nx := false
	for i := 2; i < len(args); i++ {
		text, ok := constString(args[i])
		if !ok {
			if _, isConst := constOf(args[i]); isConst {
				c.wrong = "SET has no option that is a number; a time follows EX or PX"
			} else {
				c.ttl = keyExpr{} // an option that only the running program knows
			}
			continue
		}
		switch option := strings.ToUpper(text); option {
		case "NX":
			nx = true
		case "EX", "PX", "EXAT", "PXAT":
			i++
			if i == len(args) {
				c.wrong = option + " is not followed by a time"
				break
			}
			c.setTTL(args[i], unitOf(option))
		}
	}
	if !nx {
		return nil
	}
	return []*command{c}
}
