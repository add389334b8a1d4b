package lockcheck

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// An op is what a Redis command does to a lock.
type op uint8

const (
	opNone       op = iota
	opAcquire       // SETNX, SET … NX
	opDelete        // DEL, UNLINK, or a script that deletes without comparing
	opCompareDel    // deletes only what the caller owns, or a script nobody can read
	opExpire        // EXPIRE and its relatives
	opRead          // GET: where it precedes a DEL somebody compares the owner
)

// A pipe says how a command reaches the server.
type pipe uint8

const (
	direct    pipe = iota
	pipelined      // queued, sent with others
	inMulti        // queued between MULTI and EXEC
)

// A command is one Redis command as issued by one call of the package: by the client's own method, or by a function
// whose summary says that it issues the command on a key that it is handed.
type command struct {
	op    op
	name  string // as written: SetNX, SET NX, DEL …
	key   keyExpr
	ttl   keyExpr // of an acquire: a literal "0" means none
	pipe  pipe
	reply reply

	result int // for replyResult: which one

	call   ssa.CallInstruction
	fn     *ssa.Function // outermost function that contains the call
	via    string        // name of the function that issues the command, "" if the call itself does
	origin *command      // the command of via, if via belongs to this package
	judged bool          // part of a lock that has been found where it is made up
}

// root is the command that is issued in the end, as far as this package knows.
func (c *command) root() *command {
	for c.origin != nil {
		c = c.origin
	}
	return c
}

// depth is the number of functions of this package between the call and the command.
func (c *command) depth() int {
	n := 0
	for ; c.origin != nil; c = c.origin {
		n++
	}
	return n
}

// A reply says where the outcome of an acquire arrives.
type reply uint8

const (
	replyUnknown reply = iota
	replyBoolCmd       // go-redis: in the *BoolCmd; its error says nothing about it
	replyCmd           // go-redis: redis.Nil, an error, when the key exists
	replyValue         // redigo: nil or 0 as the first result, no error
	replyResult        // a bool among the results of the function that issues the command
)

// pos is where the command is reported.
func (c *command) pos() token.Pos { return c.call.Common().Pos() }

// what names the command for a message.
func (c *command) what() string {
	if c.via != "" {
		return c.name + " (through " + c.via + ")"
	}
	return c.name
}

// noTTL reports whether an acquire certainly sets no expiry.
func (c *command) noTTL() bool { return c.ttl.Op == keyLit && c.ttl.Text == "0" }

// outermost returns the declared function around a function literal.
func outermost(fn *ssa.Function) *ssa.Function {
	for fn.Parent() != nil {
		fn = fn.Parent()
	}
	return fn
}

// commandsOf recognises the commands that a call issues itself.
func commandsOf(call ssa.CallInstruction) []*command {
	m, ok := methodOf(call.Common())
	if !ok {
		return nil
	}
	cmds := goRedisCommands(m)
	if cmds == nil {
		cmds = redigoCommands(m)
	}
	for _, c := range cmds {
		c.call, c.fn = call, outermost(call.Parent())
	}
	return cmds
}

// commandByName builds commands from the text form that Do takes: a command's name and its arguments.
func commandByName(name string, args []ssa.Value) []*command {
	name = strings.ToUpper(name)
	if len(args) == 0 {
		return nil
	}
	one := func(o op, name string) []*command {
		return []*command{{op: o, name: name, key: keyOf(args[0])}}
	}
	switch name {
	case "SETNX":
		cmds := one(opAcquire, name)
		cmds[0].ttl = noExpiry
		return cmds
	case "SET":
		return setCommand(args)
	case "DEL", "UNLINK":
		return deletes(name, args)
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return one(opExpire, name)
	case "GET":
		return one(opRead, name)
	case "EVAL":
		return evalCommand(args)
	}
	return nil
}

// noExpiry is the time to live of a lock that stays for ever.
var noExpiry = keyExpr{Op: keyLit, Text: "0"}

// setCommand recognises SET key value … NX. Options that are not constants leave the command unrecognised.
func setCommand(args []ssa.Value) []*command {
	c := &command{op: opAcquire, name: "SET NX", key: keyOf(args[0]), ttl: noExpiry}
	nx := false
	for i, a := range args {
		if i < 2 {
			continue
		}
		text, ok := constString(a)
		if !ok {
			continue
		}
		switch strings.ToUpper(text) {
		case "NX":
			nx = true
		case "EX", "PX", "EXAT", "PXAT":
			if i+1 < len(args) {
				c.ttl = keyOf(args[i+1])
			}
		}
	}
	if !nx {
		return nil
	}
	return []*command{c}
}

// deletes is one command for each key of a DEL.
func deletes(name string, keys []ssa.Value) []*command {
	var cmds []*command
	for _, k := range keys {
		cmds = append(cmds, &command{op: opDelete, name: name, key: keyOf(k)})
	}
	return cmds
}
