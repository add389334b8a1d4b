package lockcheck

import "time"

// A luaRead says what an expression asks the server.
type luaRead uint8

const (
	readsNothing luaRead = iota
	readsValue           // what a key holds: GET, HEXISTS and everything that is not one of the others
	readsExists          // EXISTS: whether, but not what
	readsSet             // SETNX, SET … NX: whether it was set just now
)

// reads looks for a command in an expression, also inside functions such as tonumber.
func (f *luaFlow) reads(x *luaExpr) luaRead { return f.find(x, map[*luaExpr]bool{}) }

// find is reads without what has been looked at: what variables hold may have parts in common, without end to it where
// each is made of the one before.
func (f *luaFlow) find(x *luaExpr, seen map[*luaExpr]bool) luaRead {
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
	for _, a := range x.args {
		if r := f.find(a, seen); r != readsNothing {
			return r
		}
	}
	return readsNothing
}

// command notes what a command does to its key. A command on an owner's key or on a key that was not there is what
// a correct lock does; the same command without the test is not.
func (f *luaFlow) command(name string, args []*luaExpr, g luaGuard) {
	e := luaEffect{key: f.resolve(args[0])}
	arg := func(i int) *luaExpr {
		if i < len(args) {
			return f.resolve(args[i])
		}
		return nil
	}
	switch name {
	case "SETNX", "HSETNX":
		e.op, e.value = opAcquire, arg(len(args)-1)
	case "SET", "SETEX", "PSETEX", "HSET", "HMSET", "HINCRBY":
		if !f.luaSet(&e, name, args) && !g.absent {
			return
		}
		e.op = opAcquire
	case "DEL", "UNLINK":
		e.op = opDelete
		if g.owner {
			e.op = opCompareDel
		}
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		e.ttl, e.unit = arg(1), unitOf(name)
		e.op = opExpire
		if g.owner {
			e.op = opCompareExpire
		}
		if f.prolongs(e) {
			return
		}
	case "GETSET":
		e.op, e.value = opSwap, arg(1)
	default:
		return
	}
	f.effects = append(f.effects, e)
}

// luaSet reads the options of SET and reports whether NX is among them.
func (f *luaFlow) luaSet(e *luaEffect, name string, args []*luaExpr) (nx bool) {
	switch {
	case name != "SET":
		e.value = f.resolve(args[len(args)-1])
	case len(args) > 1:
		e.value = f.resolve(args[1])
	}
	if (name == "SETEX" || name == "PSETEX") && len(args) == 3 {
		e.ttl, e.unit = f.resolve(args[1]), unitOf(name)
	}
	for i, a := range args {
		if i < 2 || a.kind != "str" {
			continue
		}
		switch option := upper(a.text); option {
		case "NX":
			nx = true
		case "EX", "PX", "EXAT", "PXAT":
			if i+1 < len(args) {
				e.ttl, e.unit = f.resolve(args[i+1]), unitOf(option)
			}
		}
	}
	return nx
}

// prolongs gives the expiry to the acquire of the same script, if there is one: in a script nothing comes between.
func (f *luaFlow) prolongs(expire luaEffect) bool {
	for i := range f.effects {
		e := &f.effects[i]
		if e.op == opAcquire && e.ttl == nil && sameLua(e.key, expire.key) {
			e.ttl, e.unit = expire.ttl, expire.unit
			if e.ttl == nil {
				e.ttl = luaUnknown
			}
			return true
		}
	}
	return false
}

// sameLua reports whether two expressions are written alike.
func sameLua(x, y *luaExpr) bool {
	if x.kind != y.kind || x.text != y.text || len(x.args) != len(y.args) || x.kind == "?" {
		return false
	}
	for i := range x.args {
		if !sameLua(x.args[i], y.args[i]) {
			return false
		}
	}
	return true
}

// unitOf is the unit of the time to live that a command or an option of SET takes, 0 if it takes a point in time.
func unitOf(name string) time.Duration {
	switch upper(name) {
	case "EX", "EXPIRE", "SETEX":
		return time.Second
	case "PX", "PEXPIRE", "PSETEX":
		return time.Millisecond
	}
	return 0
}
