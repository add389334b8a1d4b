package lockcheck

import (
	"go/constant"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// redigoCommands recognises conn.Do("SETNX", key, value), its variants with a context or a timeout, conn.Send, and
// redigo's scripts.
func redigoCommands(m method) []*command {
	if clientOfPackage(m.obj.Pkg()) != redigo {
		return nil
	}
	if m.recv != nil && namedIn(m.recv.Type(), redigo) == "Script" {
		return redigoScript(m)
	}
	how := direct
	at := 0
	switch m.obj.Name() {
	case "Do", "DoContext":
		if m.recv == nil {
			at = 2 // func DoContext(conn, ctx, cmd, args...)
		}
	case "DoWithTimeout":
		at = 1
		if m.recv == nil {
			at = 2
		}
	case "Send":
		if m.recv == nil {
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

// redigoScript recognises script.Do(conn, key, arguments…) and its relatives.
func redigoScript(m method) []*command {
	switch m.obj.Name() {
	case "Do", "DoContext", "Send", "SendHash":
	default:
		return nil
	}
	args := m.rest(len(m.args) - 1)
	keys := redigoKeyCount(m.recv)
	if keys < 0 && len(args) > 0 { // the caller says how many
		if keys, args = intOf(args[0]), args[1:]; keys < 0 {
			keys = min(1, len(args))
		}
	}
	if keys <= 0 || keys > len(args) {
		return nil
	}
	return sourceOf(m.recv).commands(args[:keys], args[keys:])
}

// redigoKeyCount is the number of keys that a script was made with: without a constant in sight the one that a lock
// has.
func redigoKeyCount(script ssa.Value) int {
	call := scriptMaker(script)
	if call == nil || len(call.Call.Args) != 2 {
		return 1
	}
	return intOf(call.Call.Args[0])
}

// intOf is the value of a constant, -1 if it is none.
func intOf(v ssa.Value) int {
	c, ok := constOf(v)
	if !ok || c.Kind() != constant.Int {
		return -1
	}
	n, _ := constant.Int64Val(c)
	return int(n)
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
			if !ok || clientOfPackage(m.obj.Pkg()) != redigo || m.obj.Name() != "Send" && m.obj.Name() != "Do" ||
				m.arg(0) == nil {
				continue
			}
			if name, ok := constString(m.arg(0)); ok && strings.EqualFold(name, "MULTI") {
				return true
			}
		}
	}
	return false
}
