package lockcheck

import (
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// rueidisCommands recognises client.Do(ctx, client.B().Setnx().Key(key).Value(token).Build()), DoMulti, and Lua
// scripts. A command is issued by Do; what it is, the chain of builder calls says that made its argument.
func rueidisCommands(m method) []*command {
	if m.recv == nil || clientOfPackage(m.obj.Pkg()) != rueidis {
		return nil
	}
	switch m.obj.Name() {
	case "Do", "DoCache":
		return rueidisBuilt(m.arg(0))
	case "DoMulti", "DoMultiCache":
		return rueidisMulti(m.rest(0))
	case "Exec":
		if len(m.args) != 3 {
			return nil // of a transaction
		}
		keys, ok := variadic(m.args[1])
		if !ok {
			return nil
		}
		args, _ := variadic(m.args[2])
		return sourceOf(m.recv).commands(keys, args)
	}
	return nil
}

// rueidisMulti recognises several commands that are sent together, with MULTI among them or not.
func rueidisMulti(list []ssa.Value) []*command {
	how := pipelined
	var cmds []*command
	for _, v := range list {
		if chain, ok := builderChain(v); ok && chain[0].obj.Name() == "Multi" {
			how = inMulti
		}
		cmds = append(cmds, rueidisBuilt(v)...)
	}
	for _, c := range cmds {
		c.pipe = how
	}
	return cmds
}

// rueidisBuilt recognises the command that a chain of builder calls makes.
func rueidisBuilt(v ssa.Value) []*command {
	chain, ok := builderChain(v)
	if !ok {
		return nil
	}
	if chain[0].obj.Name() == "Set" {
		return answered(rueidisSet(chain))
	}
	return answered(rueidisPlain(chain))
}

// rueidisPlain puts the arguments of the builder's calls in a row, which is the order that the command has.
func rueidisPlain(chain []method) []*command {
	var args []ssa.Value
	for _, m := range chain {
		for i, a := range m.args {
			if !m.obj.Signature().Variadic() || i < len(m.args)-1 {
				args = append(args, a)
				continue
			}
			elems, ok := variadic(a)
			if !ok {
				return nil
			}
			args = append(args, elems...)
		}
	}
	name := chain[0].obj.Name()
	if name == "Arbitrary" {
		if len(args) == 0 {
			return nil
		}
		text, ok := constString(args[0])
		if !ok {
			return nil
		}
		name, args = text, args[1:]
	}
	return commandByName(name, args)
}

// rueidisSet recognises Set().Key(key).Value(token).Nx() with one of the expiries.
func rueidisSet(chain []method) []*command {
	c := &command{op: opAcquire, name: "SET NX", ttl: noExpiry}
	nx := false
	for _, m := range chain {
		v := m.arg(0)
		switch m.obj.Name() {
		case "Key":
			c.key = keyOf(v)
		case "Value":
			c.value = keyOf(v)
		case "Nx":
			nx = true
		case "Ex", "Px":
			c.setTTL(v, 1)
		case "ExSeconds":
			c.setTTL(v, time.Second)
		case "PxMilliseconds":
			c.setTTL(v, time.Millisecond)
		case "Exat", "Pxat", "ExatTimestamp", "PxatMillisecondsTimestamp":
			c.setTTL(v, 0)
		}
	}
	if !nx {
		return nil
	}
	return []*command{c}
}

// builderChain returns the calls from the one that names the command up to Build.
func builderChain(v ssa.Value) ([]method, bool) {
	var chain []method
	for range 20 { // no command takes more
		call, ok := v.(*ssa.Call)
		if !ok {
			return nil, false
		}
		m, ok := methodOf(&call.Call)
		if !ok || m.recv == nil || clientOfPackage(m.obj.Pkg()) != rueidis {
			return nil, false
		}
		if m.obj.Name() == "B" {
			break
		}
		chain = append([]method{m}, chain...)
		v = m.recv
	}
	if len(chain) < 2 || !strings.HasPrefix(chain[len(chain)-1].obj.Name(), "Build") &&
		chain[len(chain)-1].obj.Name() != "Cache" {
		return nil, false
	}
	return chain, true
}
