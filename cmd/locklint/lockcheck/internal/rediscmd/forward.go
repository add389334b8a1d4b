package rediscmd

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Programs have functions that issue whatever command they are told:
//
//	func (c *Cache) Do(name string, args ...any) (any, error) {
//		conn := c.pool.Get()
//		defer conn.Close()
//		return conn.Do(name, args...)
//	}
//
// A call of one is a command like a call of the client.

// A Forward says how a function hands its arguments on to a client. Arguments are known by their number, the receiver
// counted. Facts carry it, hence the exported fields.
type Forward struct {
	Command string // the command, if it is always the same: EVAL
	Name    int    // which one names the command, or is the text of a script; -1 for the first of Args
	Script  bool   // Name is the text of a script
	Keys    List   // of a script
	Args    List
	Reply   Reply // where the outcome of an acquire arrives; ReplyCmd for go-redis's Cmd
}

// ForwardOf is what a function hands on, nil if it issues no command that its caller names. known tells the same of the
// functions that it calls.
func ForwardOf(fn *ssa.Function, known func(*ssa.CallCommon) *Forward) *Forward {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			f := forwardsTo(call)
			if f == nil {
				f = known(call.Common()).within(call.Common())
			}
			if f != nil {
				f.Reply = replyThrough(fn, f.Reply)
				return f
			}
		}
	}
	return nil
}

// forwardsTo is the Forward of a call of a client.
func forwardsTo(call *ssa.Call) *Forward {
	m, ok := ssax.MethodOf(call.Common())
	if !ok || m.Recv == nil {
		return nil
	}
	switch name := m.Obj.Name(); {
	case clients.OfPackage(m.Obj.Pkg()) == clients.Redigo && (name == "Do" || name == "DoContext"):
		at, isParam := paramOf(m.Arg(0))
		args, ok := listOf(m.Arg(1), 0)
		if text, isConst := ssax.ConstString(m.Arg(0)); isConst && ok && strings.EqualFold(text, "EVAL") && args.Spread {
			return &Forward{Command: "EVAL", Name: -1, Args: args, Reply: ReplyValue}
		}
		if !isParam || !ok {
			return nil
		}
		return &Forward{Name: at, Args: args, Reply: ReplyValue}
	case !IsGoRedis(m):
	case name == "Do":
		args, ok := listOf(m.Arg(0), 0)
		if !ok || len(args.Params) == 0 {
			return nil
		}
		return &Forward{Name: -1, Args: args, Reply: ReplyCmd}
	case name == "Eval":
		at, isParam := paramOf(m.Arg(0))
		keys, ok := listOf(m.Arg(1), 0)
		args, alsoOK := listOf(m.Arg(2), 0)
		if !isParam || !ok || !alsoOK {
			return nil
		}
		return &Forward{Name: at, Script: true, Keys: keys, Args: args}
	}
	return nil
}

// within is what a function hands on through another, in terms of its own parameters.
func (f *Forward) within(c *ssa.CallCommon) *Forward {
	if f == nil {
		return nil
	}
	values := argsOf(c)
	out := &Forward{Command: f.Command, Name: f.Name, Script: f.Script, Reply: f.Reply}
	ok := true
	if f.Name >= 0 {
		out.Name, ok = paramOf(valueAt(values, f.Name))
	}
	keys, keysOK := f.Keys.within(values)
	args, argsOK := f.Args.within(values)
	if !ok || !keysOK || !argsOK {
		return nil
	}
	out.Keys, out.Args = keys, args
	return out
}

// argsOf are the arguments of a call, the receiver first.
func argsOf(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	return c.Args
}

func valueAt(values []ssa.Value, i int) ssa.Value {
	if i < 0 || i >= len(values) {
		return nil
	}
	return values[i]
}

// replyThrough says where the outcome of an acquire arrives for the callers of a function.
func replyThrough(fn *ssa.Function, reply Reply) Reply {
	results := fn.Signature.Results()
	switch {
	case reply == ReplyValue && results.Len() == 2 && ssax.IsEmptyInterface(results.At(0).Type()) &&
		ssax.IsError(results.At(1).Type()):
		return reply
	case reply == ReplyCmd && results.Len() == 1 && clients.Named(results.At(0).Type(), clients.GoRedis) == "Cmd":
		return reply
	}
	return ReplyUnknown
}

// Through are the commands that a call issues through a function that hands its arguments on.
func (f *Forward) Through(call ssa.CallInstruction) []*Command {
	values := argsOf(call.Common())
	args, ok := f.Args.values(values)
	keys, keysOK := f.Keys.values(values)
	if !ok || !keysOK {
		return nil
	}
	var cmds []*Command
	if f.Script {
		cmds = textOf(valueAt(values, f.Name)).commands(keys, args)
	} else {
		cmds = f.byName(values, args)
	}
	for _, c := range cmds {
		c.Call, c.Fn = call, ssax.Outermost(call.Parent())
	}
	return cmds
}

// byName are the commands behind a name that the caller gives.
func (f *Forward) byName(values, args []ssa.Value) []*Command {
	if f.Command != "" {
		return commandByName(f.Command, args)
	}
	name := valueAt(values, f.Name)
	if f.Name < 0 && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == nil {
		return nil
	}
	text, ok := ssax.ConstString(name)
	if !ok {
		return nil
	}
	cmds := commandByName(text, args)
	if f.Reply == ReplyCmd {
		return answered(cmds)
	}
	for _, c := range cmds {
		c.Reply = f.Reply
	}
	return cmds
}
