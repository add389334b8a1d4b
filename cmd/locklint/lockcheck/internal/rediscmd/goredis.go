package rediscmd

import (
	"go/types"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
	"golang.org/x/tools/go/ssa"
)

// goRedisCommands recognises the methods of go-redis, and of interfaces that a program declares over them: those
// return go-redis's own command types, or have a method SetNX, a name that nothing but Redis uses.
func goRedisCommands(m ssax.Method) []*Command {
	if m.Recv == nil || !IsGoRedis(m) {
		return nil
	}
	cmds := goRedisMethod(m)
	if how := goRedisPipe(m); how != Direct {
		for _, c := range cmds {
			c.Pipe = how
		}
	}
	return cmds
}

// IsGoRedis reports whether a call is one of go-redis, or of an interface over it.
func IsGoRedis(m ssax.Method) bool {
	if clients.OfPackage(m.Obj.Pkg()) == clients.GoRedis {
		return true
	}
	if res := m.Result(); res != nil && strings.HasSuffix(clients.Named(res, clients.GoRedis), "Cmd") {
		return m.Call.IsInvoke()
	}
	return m.Call.IsInvoke() && HasSetNX(m.Recv.Type())
}

func goRedisMethod(m ssax.Method) []*Command {
	key := m.Arg(0)
	if key == nil {
		return nil
	}
	name := m.Obj.Name()
	one := func(o ops.Op) []*Command { return []*Command{{Op: o, Name: name, Key: keyexpr.Of(key)}} }
	switch name {
	case "SetNX", "SetNx", "SetIfNotExists", "SetIfNotExist", "SetIfAbsent":
		return goRedisSetNX(m)
	case "SetArgs":
		return setArgs(m)
	case "Del", "Unlink", "Delete":
		if m.Obj.Signature().Variadic() {
			return deletes(m)
		}
		return one(ops.Delete)
	case "GetDel":
		return one(ops.Delete)
	case "Expire", "PExpire", "ExpireAt", "PExpireAt", "ExpireNX", "ExpireXX", "ExpireGT", "ExpireLT":
		cmds := one(ops.Expire)
		if ttl := m.Arg(1); ttl != nil && ssax.IsDuration(ttl.Type()) {
			cmds[0].setTTL(ttl, 1)
		}
		return cmds
	case "Get":
		return one(ops.Read)
	case "GetSet":
		cmds := one(ops.Swap)
		if v := m.Arg(1); v != nil {
			cmds[0].Value = keyexpr.Of(v)
		}
		return cmds
	case "Incr":
		return one(ops.Count)
	case "Decr":
		return one(ops.Uncount)
	case "Watch":
		return eachKey(ops.Watch, "WATCH", m.Rest(1))
	case "DelExArgs":
		cmds := one(ops.CompareDel)
		cmds[0].Compares = true
		return cmds
	case "Eval", "EvalSha", "EvalRO", "EvalShaRO", "Run", "RunRO":
		return goRedisScript(m)
	case "Do":
		return goRedisDo(m)
	}
	return nil
}

// deletes is a DEL of keys that are written out, of a list that the function is given, or of one that it makes itself.
func deletes(m ssax.Method) []*Command {
	list, written := m.Arg(0), m.Rest(0)
	if len(written) > 0 {
		return eachKey(ops.Delete, "DEL", written)
	}
	if _, given := list.(*ssa.Parameter); given {
		each := keyexpr.Expr{Op: keyexpr.Each, Args: []keyexpr.Expr{keyexpr.Of(list)}}
		return []*Command{{Op: ops.Delete, Name: "DEL", Key: each}}
	}
	elements, _ := keyexpr.Elements(list)
	var cmds []*Command
	for _, k := range elements {
		cmds = append(cmds, &Command{Op: ops.Delete, Name: "DEL", Key: k, Guarded: true})
	}
	return cmds
}

func goRedisSetNX(m ssax.Method) []*Command {
	c := &Command{Op: ops.Acquire, Name: "SetNX", Key: keyexpr.Of(m.Arg(0))}
	if v := m.Arg(1); v != nil {
		c.setToken(v)
	}
	if ttl := m.Arg(2); ttl != nil {
		unit := time.Duration(1)
		if !ssax.IsDuration(ttl.Type()) {
			unit = 0 // an interface of the program's own, with a unit of its own
		}
		c.setTTL(ttl, unit)
	}
	if res := m.Result(); res != nil && clients.Named(res, clients.GoRedis) == "BoolCmd" {
		c.Reply = ReplyBoolCmd
	} else if returnsSet(m.Obj.Signature().Results()) {
		c.Reply = ReplyResult
	}
	return []*Command{c}
}

// returnsSet reports whether a SetNX of an interface returns whether the key was set, alone or before an error.
func returnsSet(results *types.Tuple) bool {
	switch results.Len() {
	case 1:
		return ssax.IsBool(results.At(0).Type())
	case 2:
		return ssax.IsBool(results.At(0).Type()) && ssax.IsError(results.At(1).Type())
	}
	return false
}

// setArgs recognises SetArgs(ctx, key, value, SetArgs{Mode: "NX"}).
func setArgs(m ssax.Method) []*Command {
	args := m.Arg(2)
	if args == nil {
		return nil
	}
	mode, known := ssax.LiteralField(args, "Mode")
	text, isConst := ssax.ConstString(mode)
	if !known || !isConst || !strings.EqualFold(text, "NX") {
		return nil
	}
	c := &Command{Op: ops.Acquire, Name: "SET NX", Key: keyexpr.Of(m.Arg(0)), TTL: noExpiry, Reply: ReplyCmd}
	if v := m.Arg(1); v != nil {
		c.setToken(v)
	}
	for _, field := range []string{"TTL", "ExpireAt"} {
		if ttl, _ := ssax.LiteralField(args, field); ttl != nil {
			c.setTTL(ttl, 0)
			if ssax.IsDuration(ttl.Type()) {
				c.Unit = 1
			}
		}
	}
	return []*Command{c}
}

// goRedisScript recognises Eval(ctx, script, keys, args…) and script.Run(ctx, client, keys, args…).
func goRedisScript(m ssax.Method) []*Command {
	var s scriptText
	switch name := m.Obj.Name(); {
	case clients.Named(m.Recv.Type(), clients.GoRedis) == "Script":
		s = sourceOf(m.Recv)
	case name == "Eval" || name == "EvalRO":
		s = textOf(m.Arg(0))
	case m.Arg(1) == nil:
		return nil // a Run of something else
	}
	keys, ok := ssax.Variadic(m.Arg(1))
	if !ok {
		return s.listCommands(m.Arg(1), m.Rest(2))
	}
	if len(keys) == 0 && !s.known {
		return nil
	}
	return s.commands(keys, m.Rest(2))
}

// goRedisDo recognises Do(ctx, "SET", key, value, "NX").
func goRedisDo(m ssax.Method) []*Command {
	args := m.Rest(0)
	if len(args) == 0 {
		return nil
	}
	name, ok := ssax.ConstString(args[0])
	if !ok {
		return nil
	}
	return answered(commandByName(name, args[1:]))
}
