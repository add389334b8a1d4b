// Package lua says what a script does to the keys that it is given, as far as a lock is concerned.
package lua

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
)

func upper(s string) string { return strings.ToUpper(s) }

// A Effect is what a script does to one key, as far as a lock is concerned.
type Effect struct {
	Op         ops.Op
	Key, Value *Expr
	TTL        *Expr // nil: none
	Unit       time.Duration
	Elsewhere  bool // of CompareDel: what is compared is what another key holds
}

// A guard says what is certain where a command runs.
type guard struct {
	owner  bool    // what a key holds has been compared with something
	absent bool    // the key did not exist, or has just been set by SETNX
	of     []*Expr // the keys whose owner has been compared, none if that is not known
	mine   []*Expr // those that hold what the caller has given: it has the lock that they are
}

func (g guard) or(h guard) guard {
	return guard{g.owner || h.owner, g.absent || h.absent, slices.Concat(g.of, h.of), slices.Concat(g.mine, h.mine)}
}

func (g guard) and(h guard) guard {
	both := guard{owner: g.owner && h.owner, absent: g.absent && h.absent, of: slices.Concat(g.of, h.of)}
	for _, k := range g.mine {
		if slices.ContainsFunc(h.mine, func(other *Expr) bool { return same(k, other) }) {
			both.mine = append(both.mine, k)
		}
	}
	return both
}

// holds reports whether the caller has shown that it has another lock than a key: what it does to that is what it does
// as its holder.
func (g guard) holds(key *Expr) bool {
	return len(g.mine) > 0 && !slices.ContainsFunc(g.mine, func(k *Expr) bool { return same(k, key) || k.Kind == "?" })
}

// about reports whether a key may be one of those whose owner has been compared.
func (g guard) about(key *Expr) bool {
	return len(g.of) == 0 || slices.ContainsFunc(g.of, func(k *Expr) bool { return same(k, key) || k.Kind == "?" })
}

// A flow walks a script in the order in which it runs.
type flow struct {
	env     map[string]*Expr // what variables hold
	effects []Effect
}

// Effects says what a script does; ok is false if it cannot be read.
func Effects(text string) (effects []Effect, env map[string]*Expr, ok bool) {
	block, err := parseScript(text)
	if err != nil {
		return nil, nil, false
	}
	f := &flow{env: map[string]*Expr{}}
	f.block(block, guard{})
	return f.effects, f.env, true
}

// block walks statements. It returns what is certain behind them, and whether nothing ever runs behind them.
func (f *flow) block(list []*stmt, g guard) (after guard, ends bool) {
	for _, s := range list {
		switch s.kind {
		case "if":
			if g, ends = f.branches(s, g); ends {
				return g, true
			}
			continue
		case "each":
			g = f.each(s, g)
			continue
		case "loop", "block":
			f.scan(s.exprs, g)
			before := f.snapshot()
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
		case s.kind == "expr" && s.exprs[0].Args[0].Kind == "name" && s.exprs[0].Args[0].Text == "error":
			return g, true
		}
		f.assign(s)
	}
	return g, false
}

// branches walks an if. Behind it only that is certain which all branches that get there agree on.
func (f *flow) branches(s *stmt, g guard) (after guard, ends bool) {
	before := f.snapshot()
	ends = true
	join := func(h guard) {
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

// snapshot is what is known of variables.
func (f *flow) snapshot() map[string]*Expr { return maps.Clone(f.env) }

// forget drops what is known of variables that a block has changed.
func (f *flow) forget(before map[string]*Expr) {
	for name, old := range before {
		if f.env[name] != old {
			f.env[name] = unknown
		}
	}
}

// resolve replaces a variable by what it holds.
func (f *flow) resolve(x *Expr) *Expr {
	if x.Kind == "name" {
		if v := f.env[x.Text]; v != nil {
			return v
		}
	}
	return x
}

// assign sets variables at once: a, b = b, a.
func (f *flow) assign(s *stmt) {
	values := make([]*Expr, len(s.names))
	for i, n := range s.names {
		values[i] = unknown
		if n.Kind == "name" && i < len(s.exprs) {
			values[i] = f.held(s.exprs[i])
		}
	}
	for i, n := range s.names {
		f.env[n.Text] = values[i]
	}
}

// held is an expression with what its variables hold now: x = tonumber(x) makes another x of them.
func (f *flow) held(x *Expr) *Expr {
	if len(x.Args) == 0 {
		return f.resolve(x)
	}
	y := *x
	y.Args = make([]*Expr, len(x.Args))
	for i, a := range x.Args {
		y.Args[i] = f.held(a)
	}
	return &y
}

// scan visits the commands in expressions, the right side of and and or under what the left side implies.
func (f *flow) scan(exprs []*Expr, g guard) {
	for _, x := range exprs {
		if x.Kind == "bin" && (x.Text == "and" || x.Text == "or") {
			t, e := f.implies(x.Args[0])
			f.scan(x.Args[:1], g)
			if x.Text == "or" {
				t = e
			}
			f.scan(x.Args[1:], g.or(t))
			continue
		}
		f.scan(x.Args, g)
		if name, args, ok := x.redisCall(); ok && len(args) > 0 {
			f.command(name, args, g)
		}
	}
}

// implies says what is certain where a condition is true and where it is false.
func (f *flow) implies(x *Expr) (t, e guard) {
	return f.conclude(x, map[*Expr][2]guard{})
}

// conclude is implies with what is known of the parts of the condition, which may be the same again and again.
func (f *flow) conclude(x *Expr, known map[*Expr][2]guard) (t, e guard) {
	x = f.resolve(x)
	if k, ok := known[x]; ok {
		return k[0], k[1]
	}
	defer func() { known[x] = [2]guard{t, e} }()
	switch {
	case x.Kind == "not":
		t, e = f.conclude(x.Args[0], known)
		return e, t
	case x.Kind == "bin" && (x.Text == "and" || x.Text == "or"):
		lt, le := f.conclude(x.Args[0], known)
		rt, re := f.conclude(x.Args[1], known)
		if x.Text == "and" {
			return lt.or(rt), le.and(re)
		}
		return lt.and(rt), le.or(re)
	case x.Kind == "bin" && (x.Text == "==" || x.Text == "~="):
		t, e = f.equal(f.resolve(x.Args[0]), f.resolve(x.Args[1]))
		if x.Text == "~=" {
			return e, t
		}
		return t, e
	case x.Kind == "bin":
		// An order, as in a counter: some comparison with what the key holds, on either side.
		g := guard{owner: f.reads(x) == readsValue, of: f.keysRead(x)}
		return g, g
	}
	switch f.reads(x) {
	case readsValue: // if redis.call("GET", …) then: the key exists, false otherwise
		name, _, _ := x.redisCall()
		return guard{owner: name != "GET" && name != "HGET", of: f.keysRead(x)}, guard{absent: name == "GET" || name == "HGET"}
	case readsSet: // if redis.call("SET", …, "NX") then
		return guard{absent: true}, guard{}
	}
	return guard{}, guard{}
}

// equal is implies for an equality.
func (f *flow) equal(x, y *Expr) (t, e guard) {
	rx, ry := f.reads(x), f.reads(y)
	if rx == readsNothing {
		x, y, rx = y, x, ry
	}
	zero := y.Kind == "num" && y.Text == "0"
	nothing := y.Kind == "const" && y.Text != "true"
	switch {
	case rx == readsExists && zero, rx == readsValue && nothing:
		return guard{absent: true}, guard{}
	case rx == readsExists:
		return guard{}, guard{absent: true}
	case rx == readsSet && (zero || nothing):
		return guard{}, guard{absent: true}
	case rx == readsSet:
		return guard{absent: true}, guard{}
	case rx == readsValue && zero: // HEXISTS … == 0, or a count that has come down
		g := guard{owner: true, of: f.keysRead(x)}
		return g, g
	case rx == readsValue:
		t = guard{owner: true, of: f.keysRead(x)}
		if name, _, ok := x.redisCall(); ok && name == "GET" && isArgument(y) {
			t.mine = t.of
		}
		return t, guard{}
	}
	return guard{}, guard{}
}
