package rediscmd

import (
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file recognises the clients of frameworks. Their methods are called like the commands, and return the answer and
// an error. Times are numbers, in the unit of the command.

// frameworkCommands recognises the methods of go-zero's client and of GoFrame's.
func frameworkCommands(m ssax.Method) []*Command {
	if m.Recv == nil || m.Arg(0) == nil {
		return nil
	}
	name := strings.ToUpper(m.Obj.Name())
	switch clients.OfPackage(m.Obj.Pkg()) {
	case clients.GoZero:
		return goZeroCommands(m, strings.TrimSuffix(name, "CTX"))
	case clients.GoFrame:
		return goFrameCommands(m, name)
	}
	return nil
}

func goZeroCommands(m ssax.Method, name string) []*Command {
	switch name {
	case "SETNXEX":
		cmds := plainCommands(m, "SETNX")
		if ttl := m.Arg(2); ttl != nil {
			cmds[0].setTTL(ttl, time.Second)
		}
		return cmds
	case "EVAL", "EVALSHA":
		return frameworkScript(name == "EVAL", textOf(m.Arg(0)), m.Arg(1), m.Rest(2))
	case "SCRIPTRUN":
		return frameworkScript(true, sourceOf(m.Arg(0)), m.Arg(1), m.Rest(2))
	case "DO":
		return byFirst(m.Rest(0), ReplyValue)
	}
	return plainCommands(m, name)
}

func goFrameCommands(m ssax.Method, name string) []*Command {
	switch name {
	case "DO", "DOVAR":
		return byFirst(append([]ssa.Value{m.Arg(0)}, m.Rest(1)...), ReplyValue)
	case "MUSTDO":
		return byFirst(append([]ssa.Value{m.Arg(0)}, m.Rest(1)...), ReplyUnknown)
	case "SET":
		return goFrameSet(m)
	case "EVAL", "EVALSHA":
		args, _ := ssax.Variadic(m.Arg(3))
		return frameworkScript(name == "EVAL", textOf(m.Arg(0)), m.Arg(2), args)
	}
	return plainCommands(m, name)
}

// plainCommands are those of a method whose arguments are those of the command, before its options.
func plainCommands(m ssax.Method, name string) []*Command {
	switch name {
	case "SETNX", "GETSET":
		cmds := commandByName(name, m.Args[:min(2, len(m.Args))])
		if cmds[0].Op == ops.Acquire {
			cmds[0].Reply = ReplyResult
		}
		return cmds
	case "DEL", "UNLINK":
		return deletes(m)
	case "GET", "GETDEL", "INCR", "DECR", "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return commandByName(name, m.Args)
	}
	return nil
}

// byFirst are the commands of a list that begins with the name of one.
func byFirst(args []ssa.Value, reply Reply) []*Command {
	if len(args) == 0 {
		return nil
	}
	name, ok := ssax.ConstString(args[0])
	if !ok {
		return nil
	}
	cmds := commandByName(name, args[1:])
	for _, c := range cmds {
		c.Reply = reply
	}
	return cmds
}

// goFrameSet recognises Set(ctx, key, value, gredis.SetOption{NX: true}).
func goFrameSet(m ssax.Method) []*Command {
	options := m.Rest(2)
	if len(options) != 1 {
		return nil
	}
	nx, known := ssax.LiteralField(options[0], "NX")
	if text, ok := ssax.ConstOf(nx); !known || !ok || text.String() != "true" {
		return nil
	}
	c := &Command{Op: ops.Acquire, Name: "SET NX", Key: keyexpr.Of(m.Arg(0)), TTL: noExpiry, Reply: ReplyValue}
	c.setToken(m.Arg(1))
	if ttl, known := ssax.LiteralField(options[0], "TTLOption"); ttl != nil || !known {
		c.TTL = keyexpr.Expr{}
	}
	return []*Command{c}
}

// frameworkScript are the commands of a script.
func frameworkScript(readable bool, s scriptText, list ssa.Value, args []ssa.Value) []*Command {
	if list == nil {
		return nil
	}
	keys, ok := ssax.Variadic(list)
	if !readable {
		s = scriptText{}
	}
	if !ok {
		return s.listCommands(list, args)
	}
	if len(keys) == 0 && !s.known {
		return nil
	}
	return s.commands(keys, args)
}
