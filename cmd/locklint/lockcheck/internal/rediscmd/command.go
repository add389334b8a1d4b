// Package rediscmd recognises the Redis commands that calls of the clients issue.
package rediscmd

import (
	"go/token"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A Pipe says how a command reaches the server.
type Pipe uint8

const (
	Direct    Pipe = iota
	Pipelined      // queued, sent with others
	InMulti        // queued between MULTI and EXEC
)

// A Command is one Redis command as issued by one call of the package: by the client's own method, or by a function
// whose summary says that it issues the command on a key that it is handed.
type Command struct {
	Op    ops.Op
	Name  string // as written: SetNX, SET NX, DEL …
	Key   keyexpr.Expr
	Value keyexpr.Expr // of an acquire or a swap: what the key is set to
	TTL   keyexpr.Expr // of an acquire or an expiry, in units of unit: a literal "0" means none
	Unit  time.Duration
	Pipe  Pipe
	Reply Reply

	TTLValue ssa.Value // what ttl was read from, nil if another function issues the command
	Token    ssa.Value // what the value of an acquire was read from, nil if that is not known
	// Compares: of CompareDel a script that certainly compares, not one that nobody can read; of Read a function that
	// compares what it reads.
	Compares bool
	Wrong    string // what the server will reject it for
	Ended    bool   // the function that issues the command takes the key and ends it itself
	Leased   bool   // that function returns another that releases the key: whoever calls it takes a lock
	Forced   bool   // a function on the way to the command says that it forces a release
	Guarded  bool   // it is only issued where there is reason to: its receiver says so, or it is for what a list has
	Waits    bool   // the function that issues the command also waits, so that a loop around it does not spin
	Detached bool   // the function that issues the command does not do so with the context that it is given

	Result int // for ReplyResult and ReplyError: which one

	Call   ssa.CallInstruction
	Fn     *ssa.Function // outermost function that contains the call
	Via    string        // name of the function that issues the command, "" if the call itself does
	Origin *Command      // the command of via, if via belongs to this package
	Judged bool          // part of a lock that has been found where it is made up
	// Elsewhere: it was another package that has found it.
	Elsewhere bool
	Fixed     bool // the value is a constant of another package
	GivenTTL  bool // the call decides its expiry, and not the function that issues the command
}

// Root is the command that is issued in the end, as far as this package knows.
func (c *Command) Root() *Command {
	for c.Origin != nil {
		c = c.Origin
	}
	return c
}

// JudgedElsewhere reports whether a command belongs to a lock that another package has found and reported.
func (c *Command) JudgedElsewhere() bool { return c.Elsewhere }

// Depth is the number of functions of this package between the call and the command.
func (c *Command) Depth() int {
	n := 0
	for ; c.Origin != nil; c = c.Origin {
		n++
	}
	return n
}

// A Reply says where the outcome of an acquire arrives.
type Reply uint8

const (
	ReplyUnknown Reply = iota
	ReplyBoolCmd       // go-redis: in the *BoolCmd; its error says nothing about it
	ReplyCmd           // go-redis: redis.Nil, an error, when the key exists
	ReplyValue         // redigo: nil or 0 as the first result, no error
	ReplyMessage       // in rueidis's RedisResult or go-redis's Cmd; its error says nothing about it
	ReplyResult        // a bool among the results of the function that issues the command
	ReplyError         // the error among its results, which is nil only with the lock
)

// Pos is where the command is reported.
func (c *Command) Pos() token.Pos { return c.Call.Common().Pos() }

// What names the command for a message.
func (c *Command) What() string {
	if c.Via != "" {
		return c.Name + " (through " + c.Via + ")"
	}
	return c.Name
}

// NoTTL reports whether an acquire certainly sets no expiry. A negative one is go-redis's KeepTTL, which keeps the
// expiry of a key that is not there.
func (c *Command) NoTTL() bool {
	return c.TTL.Op == keyexpr.Lit && (c.TTL.Text == "0" || strings.HasPrefix(c.TTL.Text, "-"))
}

// Of recognises the commands that a call issues itself.
func Of(call ssa.CallInstruction) []*Command {
	m, ok := ssax.MethodOf(call.Common())
	if !ok {
		return nil
	}
	cmds := frameworkCommands(m)
	if cmds == nil {
		cmds = goRedisCommands(m)
	}
	if cmds == nil {
		cmds = redigoCommands(m)
	}
	if cmds == nil {
		cmds = rueidisCommands(m)
	}
	for _, c := range cmds {
		c.Call, c.Fn = call, ssax.Outermost(call.Parent())
	}
	return cmds
}
