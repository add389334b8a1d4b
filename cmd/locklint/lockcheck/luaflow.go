package lockcheck

import (
	"maps"
	"strings"
	"time"
)

func upper(s string) string { return strings.ToUpper(s) }

// A luaEffect is what a script does to one key, as far as a lock is concerned.
type luaEffect struct {
	op         op
	key, value *luaExpr
	ttl        *luaExpr // nil: none
	unit       time.Duration
}

// A luaGuard says what is certain where a command runs.
type luaGuard struct {
	owner  bool // what the key holds has been compared with something
	absent bool // the key did not exist, or has just been set by SETNX
}

func (g luaGuard) or(h luaGuard) luaGuard  { return luaGuard{g.owner || h.owner, g.absent || h.absent} }
func (g luaGuard) and(h luaGuard) luaGuard { return luaGuard{g.owner && h.owner, g.absent && h.absent} }

// A luaFlow walks a script in the order in which it runs.
type luaFlow struct {
	env     map[string]*luaExpr // what variables hold
	effects []luaEffect
}

// luaEffects says what a script does; ok is false if it cannot be read.
func luaEffects(text string) (effects []luaEffect, env map[string]*luaExpr, ok bool) {
	block, err := parseLua(text)
	if err != nil {
		return nil, nil, false
	}
	f := &luaFlow{env: map[string]*luaExpr{}}
	f.block(block, luaGuard{})
	return f.effects, f.env, true
}

// block walks statements. It returns what is certain behind them, and whether nothing ever runs behind them.
func (f *luaFlow) block(list []*luaStmt, g luaGuard) (after luaGuard, ends bool) {
	for _, s := range list {
		switch s.kind {
		case "if":
			if g, ends = f.branches(s, g); ends {
				return g, true
			}
			continue
		case "loop", "block":
			f.scan(s.exprs, g)
			before := maps.Clone(f.env)
			for _, body := range s.body {
				f.block(body, g)
			}
			f.forget(before)
			continue
		}
		f.scan(s.exprs, g)
		switch {
		case s.kind == "return" || s.kind == "break":
			return g, true
		case s.kind == "expr" && s.exprs[0].args[0].kind == "name" && s.exprs[0].args[0].text == "error":
			return g, true
		}
		f.assign(s)
	}
	return g, false
}

// branches walks an if. Behind it only that is certain which all branches that get there agree on.
func (f *luaFlow) branches(s *luaStmt, g luaGuard) (after luaGuard, ends bool) {
	before := maps.Clone(f.env)
	ends = true
	join := func(h luaGuard) {
		if ends {
			after, ends = h, false
		} else {
			after = after.and(h)
		}
	}
	for i, body := range s.body {
		yes, no := g, g
		if i < len(s.exprs) {
			f.scan(s.exprs[i:i+1], g)
			t, e := f.implies(s.exprs[i])
			yes, no = g.or(t), g.or(e)
		}
		if h, stop := f.block(body, yes); !stop {
			join(h)
		}
		g = no
		f.forget(before)
	}
	if len(s.body) == len(s.exprs) { // no else
		join(g)
	}
	return after, ends
}

// forget drops what is known of variables that a block has changed.
func (f *luaFlow) forget(before map[string]*luaExpr) {
	for name, old := range before {
		if f.env[name] != old {
			f.env[name] = luaUnknown
		}
	}
}

// resolve replaces a variable by what it holds.
func (f *luaFlow) resolve(x *luaExpr) *luaExpr {
	if x.kind == "name" {
		if v := f.env[x.text]; v != nil {
			return v
		}
	}
	return x
}

// assign sets variables at once: a, b = b, a.
func (f *luaFlow) assign(s *luaStmt) {
	values := make([]*luaExpr, len(s.names))
	for i, n := range s.names {
		values[i] = luaUnknown
		if n.kind == "name" && i < len(s.exprs) {
			values[i] = f.held(s.exprs[i])
		}
	}
	for i, n := range s.names {
		f.env[n.text] = values[i]
	}
}

// held is an expression with what its variables hold now: x = tonumber(x) makes another x of them.
func (f *luaFlow) held(x *luaExpr) *luaExpr {
	if len(x.args) == 0 {
		return f.resolve(x)
	}
	y := *x
	y.args = make([]*luaExpr, len(x.args))
	for i, a := range x.args {
		y.args[i] = f.held(a)
	}
	return &y
}

// scan visits the commands in expressions, the right side of and and or under what the left side implies.
func (f *luaFlow) scan(exprs []*luaExpr, g luaGuard) {
	for _, x := range exprs {
		if x.kind == "bin" && (x.text == "and" || x.text == "or") {
			t, e := f.implies(x.args[0])
			f.scan(x.args[:1], g)
			if x.text == "or" {
				t = e
			}
			f.scan(x.args[1:], g.or(t))
			continue
		}
		f.scan(x.args, g)
		if name, args, ok := x.redisCall(); ok && len(args) > 0 {
			f.command(name, args, g)
		}
	}
}

// implies says what is certain where a condition is true and where it is false.
func (f *luaFlow) implies(x *luaExpr) (t, e luaGuard) {
	return f.conclude(x, map[*luaExpr][2]luaGuard{})
}

// conclude is implies with what is known of the parts of the condition, which may be the same again and again.
func (f *luaFlow) conclude(x *luaExpr, known map[*luaExpr][2]luaGuard) (t, e luaGuard) {
	x = f.resolve(x)
	if k, ok := known[x]; ok {
		return k[0], k[1]
	}
	defer func() { known[x] = [2]luaGuard{t, e} }()
	switch {
	case x.kind == "not":
		t, e = f.conclude(x.args[0], known)
		return e, t
	case x.kind == "bin" && (x.text == "and" || x.text == "or"):
		lt, le := f.conclude(x.args[0], known)
		rt, re := f.conclude(x.args[1], known)
		if x.text == "and" {
			return lt.or(rt), le.and(re)
		}
		return lt.and(rt), le.or(re)
	case x.kind == "bin" && (x.text == "==" || x.text == "~="):
		t, e = f.equal(f.resolve(x.args[0]), f.resolve(x.args[1]))
		if x.text == "~=" {
			return e, t
		}
		return t, e
	case x.kind == "bin":
		// An order, as in a counter: some comparison with what the key holds, on either side.
		g := luaGuard{owner: f.reads(x) == readsValue}
		return g, g
	}
	switch f.reads(x) {
	case readsValue: // if redis.call("GET", …) then: the key exists, false otherwise
		name, _, _ := x.redisCall()
		return luaGuard{owner: name != "GET" && name != "HGET"}, luaGuard{absent: name == "GET" || name == "HGET"}
	case readsSet: // if redis.call("SET", …, "NX") then
		return luaGuard{absent: true}, luaGuard{}
	}
	return luaGuard{}, luaGuard{}
}

// equal is implies for an equality.
func (f *luaFlow) equal(x, y *luaExpr) (t, e luaGuard) {
	rx, ry := f.reads(x), f.reads(y)
	if rx == readsNothing {
		x, y, rx = y, x, ry
	}
	zero := y.kind == "num" && y.text == "0"
	nothing := y.kind == "const" && y.text != "true"
	switch {
	case rx == readsExists && zero, rx == readsValue && nothing:
		return luaGuard{absent: true}, luaGuard{}
	case rx == readsExists:
		return luaGuard{}, luaGuard{absent: true}
	case rx == readsSet && (zero || nothing):
		return luaGuard{}, luaGuard{absent: true}
	case rx == readsSet:
		return luaGuard{absent: true}, luaGuard{}
	case rx == readsValue && zero: // HEXISTS … == 0, or a count that has come down
		return luaGuard{owner: true}, luaGuard{owner: true}
	case rx == readsValue:
		return luaGuard{owner: true}, luaGuard{}
	}
	return luaGuard{}, luaGuard{}
}
