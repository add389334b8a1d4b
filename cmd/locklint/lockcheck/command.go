package lockcheck

import (
	"go/token"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"
)

// An op is what a Redis command does to a lock.
type op uint8

const (
	opNone          op = iota
	opAcquire          // SETNX, SET … NX
	opDelete           // DEL, UNLINK, or a script that deletes without comparing
	opCompareDel       // deletes only what the caller owns, or a script nobody can read
	opExpire           // EXPIRE and its relatives
	opCompareExpire    // a script that prolongs only what the caller owns
	opRead             // GET: where it precedes a DEL somebody compares the owner
	opSwap             // GETSET
	opCount            // INCR
	opUncount          // DECR
	opWatch            // WATCH
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
	value keyExpr // of an acquire or a swap: what the key is set to
	ttl   keyExpr // of an acquire or an expiry, in units of unit: a literal "0" means none
	unit  time.Duration
	pipe  pipe
	reply reply

	ttlValue ssa.Value // what ttl was read from, nil if another function issues the command
	compares bool      // opCompareDel: a script that certainly compares, not one that nobody can read
	wrong    string    // what the server will reject it for
	waits    bool      // the function that issues the command also waits, so that a loop around it does not spin

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

// judgedElsewhere reports whether a command belongs to a lock that another package has found and reported.
func (c *command) judgedElsewhere() bool { return c.via != "" && c.origin == nil && c.judged }

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
	replyMessage       // in rueidis's RedisResult or go-redis's Cmd; its error says nothing about it
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

// noTTL reports whether an acquire certainly sets no expiry. A negative one is go-redis's KeepTTL, which keeps the
// expiry of a key that is not there.
func (c *command) noTTL() bool {
	return c.ttl.Op == keyLit && (c.ttl.Text == "0" || strings.HasPrefix(c.ttl.Text, "-"))
}

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
	if cmds == nil {
		cmds = rueidisCommands(m)
	}
	for _, c := range cmds {
		c.call, c.fn = call, outermost(call.Parent())
	}
	return cmds
}
