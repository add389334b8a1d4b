package lua

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
)

// TestLuaEffects_variables: what a variable holds is what it held when it was set, under whatever name.
func TestLuaEffects_variables(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []ops.Op
	}{
		{"converted", `local v = redis.call("GET", KEYS[1]) v = tonumber(v)
			if v == tonumber(ARGV[1]) then redis.call("DEL", KEYS[1]) end`, []ops.Op{ops.CompareDel}},
		{"with a default", `local v = redis.call("GET", KEYS[1]) v = v or ""
			if v == ARGV[1] then redis.call("DEL", KEYS[1]) end`, []ops.Op{ops.CompareDel}},
		{"set anew", `local v = redis.call("GET", KEYS[1]) local old = v v = ARGV[2]
			if v == ARGV[1] then redis.call("DEL", KEYS[1]) end`, []ops.Op{ops.Delete}},
		{"exchanged", `local v, w = redis.call("GET", KEYS[1]), ARGV[2] v, w = w, v
			if w == ARGV[1] then redis.call("DEL", KEYS[1]) end`, []ops.Op{ops.CompareDel}},
		{"of what was held before", `local v = redis.call("GET", KEYS[1]) local mine = v == ARGV[1] v = ARGV[2]
			if mine then redis.call("DEL", KEYS[1]) end`, []ops.Op{ops.CompareDel}},
	} {
		effects, _, ok := Effects(c.text)
		if !ok {
			t.Errorf("%s: cannot be read", c.name)
		}
		var got []ops.Op
		for _, e := range effects {
			got = append(got, e.Op)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the effects are %v, want %v", c.name, got, c.want)
		}
	}
}

// TestLuaEffects_chains: what is made of itself over and over is looked at once.
func TestLuaEffects_chains(t *testing.T) {
	const n = 64 // a look for each way to the start would take 2^64
	for name, chain := range map[string]string{
		"sum":  "x = x + y y = y + x\n",
		"both": "x = x and y y = x or y\n",
		"text": "x = x .. y y = y .. x\n",
		"loop": "while x < y do x = x * y y = x * y end\n",
	} {
		text := fmt.Sprintf("local x, y = ARGV[1], ARGV[2]\n%sif x == y then redis.call('DEL', KEYS[1]) end\n"+
			"if x then redis.call('DEL', KEYS[2]) end", strings.Repeat(chain, n))
		effects, _, ok := Effects(text)
		if !ok || len(effects) != 2 {
			t.Errorf("%s: %d effects, %v; want 2", name, len(effects), ok)
		}
	}
}

// TestLuaEffects_unreadable: what the reader cannot follow is no script at all.
func TestLuaEffects_unreadable(t *testing.T) {
	del := "redis.call('DEL', KEYS[1])"
	for name, text := range map[string]string{
		"function":  "local function f() " + del + " end f()",
		"method":    "local x = KEYS x:f() " + del,
		"lambda":    "local f = function() end " + del,
		"deep":      strings.Repeat("do ", 300) + strings.Repeat("end ", 300) + del,
		"no Lua":    "if (x) { del }",
		"cut off":   "if redis.call('GET', KEYS[1]) == ARGV[1] then",
		"no quotes": "redis.call('DEL, KEYS[1])",
	} {
		if effects, _, ok := Effects(text); ok {
			t.Errorf("%s: read as %v", name, effects)
		}
	}
	if effects, _, ok := Effects(del); !ok || len(effects) != 1 {
		t.Errorf("%s: %v, %v", del, effects, ok)
	}
}
