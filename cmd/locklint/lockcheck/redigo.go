package lockcheck

import (
	"strings"

	"golang.org/x/tools/go/ssa"
)

// redigoCommands recognises conn.Do("SETNX", key, value), its variants with a context or a timeout, conn.Send, and
// redigo's scripts.
func redigoCommands(m method) []*command {
	if clientOfPackage(m.obj.Pkg()) != redigo {
		return nil
	}
	how := direct
	at := 0
	switch m.obj.Name() {
	case "Do", "DoContext":
		if m.recv == nil {
			at = 2 // func DoContext(conn, ctx, cmd, args...)
		} else if namedIn(m.recv.Type(), redigo) == "Script" {
			return redigoScript(m)
		}
	case "DoWithTimeout":
		at = 1
		if m.recv == nil {
			at = 2
		}
	case "Send":
		if m.recv == nil || namedIn(m.recv.Type(), redigo) == "Script" {
			return nil
		}
		how = pipelined
		if sendsMulti(m.call) {
			how = inMulti
		}
	default:
		return nil
	}
	if m.arg(at) == nil {
		return nil
	}
	name, ok := constString(m.arg(at))
	if !ok {
		return nil
	}
	cmds := commandByName(name, m.rest(at+1))
	for _, c := range cmds {
		c.pipe, c.reply = how, replyValue
	}
	return cmds
}

// redigoScript recognises script.Do(conn, key, arguments…).
func redigoScript(m method) []*command {
	text, ok := scriptText(m.recv)
	args := m.rest(1)
	if len(args) == 0 {
		return nil
	}
	return []*command{{op: scriptOp(text, ok), name: "EVAL", key: keyOf(args[0])}}
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
			m, ok := methodOf(call.Common())
			if !ok || clientOfPackage(m.obj.Pkg()) != redigo || m.obj.Name() != "Send" || m.arg(0) == nil {
				continue
			}
			if name, ok := constString(m.arg(0)); ok && strings.EqualFold(name, "MULTI") {
				return true
			}
		}
	}
	return false
}
