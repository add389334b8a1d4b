package rediscmd

import (
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// redigoCommands recognises conn.Do("SETNX", key, value), its variants with a context or a timeout, conn.Send, and
// redigo's scripts.
func redigoCommands(m ssax.Method) []*Command {
	if clients.OfPackage(m.Obj.Pkg()) != clients.Redigo {
		return nil
	}
	if m.Recv != nil && clients.Named(m.Recv.Type(), clients.Redigo) == "Script" {
		return redigoScript(m)
	}
	how := Direct
	at := 0
	switch m.Obj.Name() {
	case "Do", "DoContext":
		if m.Recv == nil {
			at = 2 // func DoContext(conn, ctx, cmd, args...)
		}
	case "DoWithTimeout":
		at = 1
		if m.Recv == nil {
			at = 2
		}
	case "Send":
		if m.Recv == nil {
			return nil
		}
		how = Pipelined
		if sendsMulti(m.Call) {
			how = InMulti
		}
	default:
		return nil
	}
	if m.Arg(at) == nil {
		return nil
	}
	name, ok := ssax.ConstString(m.Arg(at))
	if !ok {
		return nil
	}
	cmds := commandByName(name, m.Rest(at+1))
	for _, c := range cmds {
		c.Pipe, c.Reply = how, ReplyValue
	}
	return cmds
}

// redigoScript recognises script.Do(conn, key, arguments…) and its relatives.
func redigoScript(m ssax.Method) []*Command {
	switch m.Obj.Name() {
	case "Do", "DoContext", "Send", "SendHash":
	default:
		return nil
	}
	args := m.Rest(len(m.Args) - 1)
	keys := redigoKeyCount(m.Recv)
	if keys < 0 && len(args) > 0 { // the caller says how many
		if keys, args = ssax.IntOf(args[0]), args[1:]; keys < 0 {
			keys = min(1, len(args))
		}
	}
	if keys <= 0 || keys > len(args) {
		return nil
	}
	return sourceOf(m.Recv).commands(args[:keys], args[keys:])
}

// redigoKeyCount is the number of keys that a script was made with: without a constant in sight the one that a lock
// has.
func redigoKeyCount(script ssa.Value) int {
	call := scriptMaker(script)
	if call == nil || len(call.Call.Args) != 2 {
		return 1
	}
	return ssax.IntOf(call.Call.Args[0])
}

// sendsMulti reports whether the function that issues a command also opens a transaction.
func sendsMulti(c *ssa.CallCommon) bool {
	fn := c.Value.Parent()
	if fn == nil {
		return false
	}
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			m, ok := ssax.MethodOf(call.Common())
			if !ok || clients.OfPackage(m.Obj.Pkg()) != clients.Redigo || m.Obj.Name() != "Send" && m.Obj.Name() != "Do" ||
				m.Arg(0) == nil {
				continue
			}
			if name, ok := ssax.ConstString(m.Arg(0)); ok && strings.EqualFold(name, "MULTI") {
				return true
			}
		}
	}
	return false
}
