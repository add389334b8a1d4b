package lockcheck

import (
	"go/types"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// goRedisCommands recognises the methods of go-redis, and of interfaces that a program declares over them: those
// return go-redis's own command types, or have a method SetNX, a name that nothing but Redis uses.
func goRedisCommands(m method) []*command {
	if m.recv == nil || !isGoRedis(m) {
		return nil
	}
	cmds := goRedisMethod(m)
	if how := goRedisPipe(m); how != direct {
		for _, c := range cmds {
			c.pipe = how
		}
	}
	return cmds
}

func isGoRedis(m method) bool {
	if clientOfPackage(m.obj.Pkg()) == goRedis {
		return true
	}
	if res := m.result(); res != nil && strings.HasSuffix(namedIn(res, goRedis), "Cmd") {
		return m.call.IsInvoke()
	}
	return m.call.IsInvoke() && hasSetNX(m.recv.Type())
}

func goRedisMethod(m method) []*command {
	key := m.arg(0)
	if key == nil {
		return nil
	}
	name := m.obj.Name()
	one := func(o op) []*command { return []*command{{op: o, name: name, key: keyOf(key)}} }
	switch name {
	case "SetNX":
		return goRedisSetNX(m)
	case "SetArgs":
		return setArgs(m)
	case "Del", "Unlink", "Delete":
		if m.obj.Signature().Variadic() {
			return eachKey(opDelete, "DEL", m.rest(0))
		}
		return one(opDelete)
	case "GetDel":
		return one(opDelete)
	case "Expire", "PExpire", "ExpireAt", "PExpireAt", "ExpireNX", "ExpireXX", "ExpireGT", "ExpireLT":
		cmds := one(opExpire)
		if ttl := m.arg(1); ttl != nil && isDuration(ttl.Type()) {
			cmds[0].setTTL(ttl, 1)
		}
		return cmds
	case "Get":
		return one(opRead)
	case "GetSet":
		cmds := one(opSwap)
		if v := m.arg(1); v != nil {
			cmds[0].value = keyOf(v)
		}
		return cmds
	case "Incr":
		return one(opCount)
	case "Decr":
		return one(opUncount)
	case "Watch":
		return eachKey(opWatch, "WATCH", m.rest(1))
	case "DelExArgs":
		cmds := one(opCompareDel)
		cmds[0].compares = true
		return cmds
	case "Eval", "EvalSha", "EvalRO", "EvalShaRO", "Run", "RunRO":
		return goRedisScript(m)
	case "Do":
		return goRedisDo(m)
	}
	return nil
}

func goRedisSetNX(m method) []*command {
	c := &command{op: opAcquire, name: "SetNX", key: keyOf(m.arg(0))}
	if v := m.arg(1); v != nil {
		c.value = keyOf(v)
	}
	if ttl := m.arg(2); ttl != nil {
		unit := time.Duration(1)
		if !isDuration(ttl.Type()) {
			unit = 0 // an interface of the program's own, with a unit of its own
		}
		c.setTTL(ttl, unit)
	}
	if res := m.result(); res != nil && namedIn(res, goRedis) == "BoolCmd" {
		c.reply = replyBoolCmd
	}
	return []*command{c}
}

// setArgs recognises SetArgs(ctx, key, value, SetArgs{Mode: "NX"}).
func setArgs(m method) []*command {
	args := m.arg(2)
	if args == nil {
		return nil
	}
	mode, known := literalField(args, "Mode")
	text, isConst := constString(mode)
	if !known || !isConst || !strings.EqualFold(text, "NX") {
		return nil
	}
	c := &command{op: opAcquire, name: "SET NX", key: keyOf(m.arg(0)), value: keyOf(m.arg(1)), ttl: noExpiry,
		reply: replyCmd}
	for _, field := range []string{"TTL", "ExpireAt"} {
		if ttl, _ := literalField(args, field); ttl != nil {
			c.setTTL(ttl, 0)
			if isDuration(ttl.Type()) {
				c.unit = 1
			}
		}
	}
	return []*command{c}
}

// goRedisScript recognises Eval(ctx, script, keys, args…) and script.Run(ctx, client, keys, args…).
func goRedisScript(m method) []*command {
	var s scriptText
	switch name := m.obj.Name(); {
	case namedIn(m.recv.Type(), goRedis) == "Script":
		s = sourceOf(m.recv)
	case name == "Eval" || name == "EvalRO":
		s = textOf(m.arg(0))
	case m.arg(1) == nil:
		return nil // a Run of something else
	}
	keys, ok := variadic(m.arg(1))
	if !ok || len(keys) == 0 && !s.known {
		return nil
	}
	return s.commands(keys, m.rest(2))
}

// goRedisDo recognises Do(ctx, "SET", key, value, "NX").
func goRedisDo(m method) []*command {
	args := m.rest(0)
	if len(args) == 0 {
		return nil
	}
	name, ok := constString(args[0])
	if !ok {
		return nil
	}
	return answered(commandByName(name, args[1:]))
}

// goRedisPipe says whether the receiver queues commands, and whether between MULTI and EXEC.
func goRedisPipe(m method) pipe {
	switch namedIn(m.recv.Type(), goRedis) {
	case "Pipeliner", "Pipeline":
	default:
		if makerOf(m.recv) == "" {
			return direct
		}
	}
	if strings.HasPrefix(makerOf(m.recv), "Tx") {
		return inMulti
	}
	return pipelined
}

// makerOf names the method that made a pipeline: the call that returned it, or the call whose function literal
// receives it.
func makerOf(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Call:
		if m, ok := methodOf(&v.Call); ok && clientOfPackage(m.obj.Pkg()) == goRedis {
			if strings.HasSuffix(m.obj.Name(), "Pipeline") {
				return pipeName(m)
			}
		}
	case *ssa.Parameter:
		if name := passedTo(v.Parent()); strings.HasSuffix(name, "Pipelined") {
			return name
		}
	case *ssa.UnOp:
		switch addr := cellOf(v.X).(type) {
		case *ssa.Alloc:
			if stored, ok := onlyStore(addr); ok {
				return makerOf(stored)
			}
		case *ssa.FieldAddr: // a method of an embedded field
			return makerOf(addr.X)
		}
	}
	return ""
}

// pipeName is the name of a method. Up to version 6 of go-redis the pipelines of a Tx are transactions.
func pipeName(m method) string {
	name := m.obj.Name()
	if m.recv != nil && namedIn(m.recv.Type(), goRedis) == "Tx" && strings.HasPrefix(name, "Pipeline") &&
		isOldGoRedis(m.obj.Pkg()) {
		return "Tx" + name
	}
	return name
}

func isOldGoRedis(pkg *types.Package) bool {
	path := withoutVendor(pkg.Path())
	return path == "github.com/go-redis/redis" || strings.HasPrefix(path, "gopkg.in/redis.v")
}

// passedTo names the method to which a function literal is handed directly, "" if there is none.
func passedTo(lit *ssa.Function) string {
	if lit.Parent() == nil {
		return ""
	}
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			for _, a := range call.Common().Args {
				mc, _ := a.(*ssa.MakeClosure)
				if a == ssa.Value(lit) || mc != nil && mc.Fn == lit {
					if m, ok := methodOf(call.Common()); ok {
						return pipeName(m)
					}
				}
			}
		}
	}
	return ""
}

// hasSetNX reports whether a type has a method SetNX whose first argument after the context is a string.
func hasSetNX(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range iface.Methods() {
		if m.Name() != "SetNX" {
			continue
		}
		params := m.Signature().Params()
		i := 0
		if params.Len() > 0 && isContext(params.At(0).Type()) {
			i = 1
		}
		if params.Len() <= i {
			return false
		}
		b, ok := params.At(i).Type().Underlying().(*types.Basic)
		return ok && b.Info()&types.IsString != 0
	}
	return false
}
