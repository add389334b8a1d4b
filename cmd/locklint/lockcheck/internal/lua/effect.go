package lua

import (
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
)

// A read says what an expression asks the server.
type read uint8

const (
	readsNothing read = iota
	readsValue        // what a key holds: GET, HEXISTS and everything that is not one of the others
	readsExists       // EXISTS: whether, but not what
	readsSet          // SETNX, SET … NX: whether it was set just now
)

// reads looks for a command in an expression, also inside functions such as tonumber.
func (f *flow) reads(x *Expr) read { return f.find(x, map[*Expr]bool{}) }

// find is reads without what has been looked at: what variables hold may have parts in common, without end to it where
// each is made of the one before.
func (f *flow) find(x *Expr, seen map[*Expr]bool) read {
	x = f.resolve(x)
	if seen[x] {
		return readsNothing
	}
	seen[x] = true
	if name, _, ok := x.redisCall(); ok {
		switch name {
		case "EXISTS":
			return readsExists
		case "SETNX", "SET", "HSETNX":
			return readsSet
		case "TTL", "PTTL", "TIME", "DEL", "UNLINK", "EXPIRE", "PEXPIRE":
			return readsNothing
		}
		return readsValue
	}
	for _, a := range x.Args {
		if r := f.find(a, seen); r != readsNothing {
			return r
		}
	}
	return readsNothing
}

// keysRead are the keys that an expression asks the server about.
func (f *flow) keysRead(x *Expr) []*Expr {
	var keys []*Expr
	seen := map[*Expr]bool{}
	var visit func(x *Expr)
	visit = func(x *Expr) {
		if x = f.resolve(x); seen[x] {
			return
		}
		seen[x] = true
		if _, args, ok := x.redisCall(); ok && len(args) > 0 {
			keys = append(keys, f.resolve(args[0]))
			return
		}
		for _, a := range x.Args {
			visit(a)
		}
	}
	visit(x)
	return keys
}

// command notes what a command does to its key. A command on an owner's key or on a key that was not there is what
// a correct lock does; the same command without the test is not.
func (f *flow) command(name string, args []*Expr, g guard) {
	e := Effect{Key: f.resolve(args[0])}
	arg := func(i int) *Expr {
		if i < len(args) {
			return f.resolve(args[i])
		}
		return nil
	}
	switch name {
	case "SETNX", "HSETNX":
		e.Op, e.Value = ops.Acquire, arg(len(args)-1)
	case "SET", "SETEX", "PSETEX", "HSET", "HMSET", "HINCRBY":
		if !f.set(&e, name, args) && !g.absent {
			return
		}
		if name == "HINCRBY" {
			if f.takes(e.Key) {
				return // how often its owner has taken it
			}
			e.Value = arg(1)
		}
		e.Op = ops.Acquire
	case "DEL", "UNLINK":
		e.Op = ops.Delete
		if g.owner {
			e.Op, e.Elsewhere = ops.CompareDel, !g.about(e.Key)
		}
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		e.TTL, e.Unit = arg(1), ops.UnitOf(name)
		e.Op = ops.Expire
		if g.owner {
			e.Op = ops.CompareExpire
		}
		if f.prolongs(e) {
			return
		}
	case "GETSET":
		e.Op, e.Value = ops.Swap, arg(1)
	default:
		return
	}
	if e.Op == ops.Acquire && g.holds(e.Key) {
		return
	}
	f.effects = append(f.effects, e)
}

// set reads the options of SET and reports whether NX is among them.
func (f *flow) set(e *Effect, name string, args []*Expr) (nx bool) {
	switch {
	case name != "SET":
		e.Value = f.resolve(args[len(args)-1])
	case len(args) > 1:
		e.Value = f.resolve(args[1])
	}
	if (name == "SETEX" || name == "PSETEX") && len(args) == 3 {
		e.TTL, e.Unit = f.resolve(args[1]), ops.UnitOf(name)
	}
	for i, a := range args {
		if i < 2 || a.Kind != "str" {
			continue
		}
		switch option := upper(a.Text); option {
		case "NX":
			nx = true
		case "EX", "PX", "EXAT", "PXAT":
			if i+1 < len(args) {
				e.TTL, e.Unit = f.resolve(args[i+1]), ops.UnitOf(option)
			}
		}
	}
	return nx
}

// isArgument reports whether an expression is one of the values that the caller gives the script.
func isArgument(x *Expr) bool {
	return x.Kind == "index" && x.Args[0].Kind == "name" && x.Args[0].Text == "ARGV"
}

// takes reports whether the script takes a key.
func (f *flow) takes(key *Expr) bool {
	return slices.ContainsFunc(f.effects, func(e Effect) bool { return e.Op == ops.Acquire && same(e.Key, key) })
}

// prolongs gives the expiry to the acquire of the same script, if there is one: in a script nothing comes between.
func (f *flow) prolongs(expire Effect) bool {
	for i := range f.effects {
		e := &f.effects[i]
		if e.Op == ops.Acquire && e.TTL == nil && same(e.Key, expire.Key) {
			e.TTL, e.Unit = expire.TTL, expire.Unit
			if e.TTL == nil {
				e.TTL = unknown
			}
			return true
		}
	}
	return false
}

// same reports whether two expressions are written alike.
func same(x, y *Expr) bool {
	if x.Kind != y.Kind || x.Text != y.Text || len(x.Args) != len(y.Args) || x.Kind == "?" {
		return false
	}
	for i := range x.Args {
		if !same(x.Args[i], y.Args[i]) {
			return false
		}
	}
	return true
}
