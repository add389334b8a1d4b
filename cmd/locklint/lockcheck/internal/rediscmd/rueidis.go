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

// rueidisCommands recognises client.Do(ctx, client.B().Setnx().Key(key).Value(token).Build()), DoMulti, and Lua
// scripts. A command is issued by Do; what it is, the chain of builder calls says that made its argument.
func rueidisCommands(m ssax.Method) []*Command {
	if m.Recv == nil || clients.OfPackage(m.Obj.Pkg()) != clients.Rueidis {
		return nil
	}
	switch m.Obj.Name() {
	case "Do", "DoCache":
		return rueidisBuilt(m.Arg(0))
	case "DoMulti", "DoMultiCache":
		return rueidisMulti(m.Rest(0))
	case "Exec":
		if len(m.Args) != 3 {
			return nil // of a transaction
		}
		keys, ok := ssax.Variadic(m.Args[1])
		if !ok {
			return nil
		}
		args, _ := ssax.Variadic(m.Args[2])
		return sourceOf(m.Recv).commands(keys, args)
	}
	return nil
}

// rueidisMulti recognises several commands that are sent together, with MULTI among them or not.
func rueidisMulti(list []ssa.Value) []*Command {
	how := Pipelined
	var cmds []*Command
	for _, v := range list {
		if chain, ok := builderChain(v); ok && chain[0].Obj.Name() == "Multi" {
			how = InMulti
		}
		cmds = append(cmds, rueidisBuilt(v)...)
	}
	for _, c := range cmds {
		c.Pipe = how
	}
	return cmds
}

// rueidisBuilt recognises the command that a chain of builder calls makes.
func rueidisBuilt(v ssa.Value) []*Command {
	chain, ok := builderChain(v)
	if !ok {
		return nil
	}
	if chain[0].Obj.Name() == "Set" {
		return answered(rueidisSet(chain))
	}
	return answered(rueidisPlain(chain))
}

// rueidisPlain puts the arguments of the builder's calls in a row, which is the order that the command has.
func rueidisPlain(chain []ssax.Method) []*Command {
	var args []ssa.Value
	for _, m := range chain {
		for i, a := range m.Args {
			if !m.Obj.Signature().Variadic() || i < len(m.Args)-1 {
				args = append(args, a)
				continue
			}
			elems, ok := ssax.Variadic(a)
			if !ok {
				return nil
			}
			args = append(args, elems...)
		}
	}
	name := chain[0].Obj.Name()
	if name == "Arbitrary" {
		if len(args) == 0 {
			return nil
		}
		text, ok := ssax.ConstString(args[0])
		if !ok {
			return nil
		}
		name, args = text, args[1:]
	}
	return commandByName(name, args)
}

// rueidisSet recognises Set().Key(key).Value(token).Nx() with one of the expiries.
func rueidisSet(chain []ssax.Method) []*Command {
	c := &Command{Op: ops.Acquire, Name: "SET NX", TTL: noExpiry}
	nx := false
	for _, m := range chain {
		v := m.Arg(0)
		switch m.Obj.Name() {
		case "Key":
			c.Key = keyexpr.Of(v)
		case "Value":
			c.Value = keyexpr.Of(v)
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
	return []*Command{c}
}

// builderChain returns the calls from the one that names the command up to Build.
func builderChain(v ssa.Value) ([]ssax.Method, bool) {
	var chain []ssax.Method
	for range 20 { // no command takes more
		call, ok := v.(*ssa.Call)
		if !ok {
			return nil, false
		}
		m, ok := ssax.MethodOf(&call.Call)
		if !ok || m.Recv == nil || clients.OfPackage(m.Obj.Pkg()) != clients.Rueidis {
			return nil, false
		}
		if m.Obj.Name() == "B" {
			break
		}
		chain = append([]ssax.Method{m}, chain...)
		v = m.Recv
	}
	if len(chain) < 2 || !strings.HasPrefix(chain[len(chain)-1].Obj.Name(), "Build") &&
		chain[len(chain)-1].Obj.Name() != "Cache" {
		return nil, false
	}
	return chain, true
}
