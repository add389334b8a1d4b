package lockcheck

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file brings Lua and Go together: which text a script has, and which keys of the Go side it works on. What a
// script does to a key, luaflow.go says.

// The marks around the number of a Go value inside a script's text. One outside quotes passes for a name.
const (
	markStart = "__lockgen_value_"
	markEnd   = "__"
)

// A scriptText is the source of a script. Values that only the running program knows stand in it as marks.
type scriptText struct {
	text  string
	parts []keyExpr
	known bool
}

// textOf is the source of a script as a string value: a constant, several joined together, a package variable that
// starts as one or that a file is embedded into.
func textOf(v ssa.Value) scriptText {
	if v == nil {
		return scriptText{}
	}
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	if load, ok := v.(*ssa.UnOp); ok {
		if g, ok := cellOf(load.X).(*ssa.Global); ok {
			if init := globalInit(g); init != nil {
				return textOf(init)
			}
			text, ok := embedded(g)
			return scriptText{text: text, known: ok}
		}
	}
	s := scriptText{}
	s.add(keyOf(v))
	s.known = strings.Contains(s.text, "redis.") || strings.Contains(s.text, "server.")
	return s
}

func (s *scriptText) add(k keyExpr) {
	switch k.Op {
	case keyLit:
		s.text += k.Text
	case keyConcat:
		for _, a := range k.Args {
			s.add(a)
		}
	default:
		s.text += markStart + strconv.Itoa(len(s.parts)) + markEnd
		s.parts = append(s.parts, k)
	}
}

// unmark is the expression of a text with marks.
func (s *scriptText) unmark(text string) keyExpr {
	var list []keyExpr
	for text != "" {
		plain, rest, found := strings.Cut(text, markStart)
		list = append(list, keyExpr{Op: keyLit, Text: plain})
		if !found {
			break
		}
		number, after, _ := strings.Cut(rest, markEnd)
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(s.parts) {
			return keyExpr{}
		}
		list, text = append(list, s.parts[i]), after
	}
	return concatOf(list)
}

// commands are the commands that a run of the script issues. A script that cannot be read is taken for a correct
// release of all its keys: silence is better than a guess.
func (s scriptText) commands(keys, args []ssa.Value) []*command {
	effects, env, ok := luaEffects(s.text)
	if !s.known || !ok {
		return eachKey(opCompareDel, "EVAL", keys)
	}
	b := luaBinding{s, env, keys, args}
	var cmds []*command
	for _, e := range effects {
		c := &command{op: e.op, name: "EVAL", key: b.key(e.key, 0), compares: e.op == opCompareDel}
		if e.value != nil {
			c.value = b.key(e.value, 0)
		}
		switch {
		case e.ttl != nil:
			c.ttl, c.unit = b.key(e.ttl, 0), e.unit
		case e.op == opAcquire:
			c.ttl = noExpiry
		}
		if c.key.known() {
			cmds = append(cmds, c)
		}
	}
	return cmds
}

// A luaBinding translates what a script speaks of into what the program hands to it.
type luaBinding struct {
	scriptText
	env        map[string]*luaExpr
	keys, args []ssa.Value
}

func (b luaBinding) key(x *luaExpr, depth int) keyExpr {
	if depth > maxKeyDepth {
		return keyExpr{}
	}
	switch {
	case x.kind == "str":
		return b.unmark(x.text)
	case x.kind == "num":
		return keyExpr{Op: keyLit, Text: x.text}
	case x.kind == "name" && strings.Contains(x.text, markStart):
		return b.unmark(x.text)
	case x.kind == "name" && b.env[x.text] != nil && b.env[x.text] != x:
		return b.key(b.env[x.text], depth+1)
	case x.kind == "bin" && x.text == "..":
		return concatOf([]keyExpr{b.key(x.args[0], depth+1), b.key(x.args[1], depth+1)})
	case x.kind == "call" && len(x.args) == 2 && (x.args[0].text == "tostring" || x.args[0].text == "tonumber"):
		return b.key(x.args[1], depth+1)
	case x.kind == "index" && x.args[0].kind == "name" && x.args[1].kind == "num":
		list := b.keys
		if x.args[0].text == "ARGV" {
			list = b.args
		} else if x.args[0].text != "KEYS" {
			return keyExpr{}
		}
		if i, err := strconv.Atoi(x.args[1].text); err == nil && 0 < i && i <= len(list) {
			return keyOf(list[i-1])
		}
	}
	return keyExpr{}
}

// sourceOf finds the source that a script value was made from.
func sourceOf(v ssa.Value) scriptText {
	call := scriptMaker(v)
	if call == nil {
		return scriptText{}
	}
	for _, a := range call.Call.Args { // redigo has the number of keys before the text, rueidis options behind it
		if isString(a.Type()) {
			return textOf(a)
		}
	}
	return scriptText{}
}

// scriptMaker is the call of NewScript that made a script value: on the spot, or once for a variable. Nil if it is
// not in sight.
func scriptMaker(v ssa.Value) *ssa.Call {
	switch v := v.(type) {
	case *ssa.Call:
		if m, ok := methodOf(&v.Call); ok && m.recv == nil && strings.HasPrefix(m.obj.Name(), "New") {
			return v
		}
	case *ssa.UnOp:
		switch addr := cellOf(v.X).(type) {
		case *ssa.Global:
			if init := globalInit(addr); init != nil {
				return scriptMaker(init)
			}
		case *ssa.Alloc:
			if stored, ok := onlyStore(addr); ok {
				return scriptMaker(stored)
			}
		}
	}
	return nil
}

// globalInit is the value that the package's initialiser stores into a variable, nil if it is not in sight.
func globalInit(g *ssa.Global) ssa.Value {
	init := g.Pkg.Func("init")
	if init == nil {
		return nil
	}
	for _, b := range init.Blocks {
		for _, instr := range b.Instrs {
			if st, ok := instr.(*ssa.Store); ok && st.Addr == g {
				return st.Val
			}
		}
	}
	return nil
}

// embedded is the content of the file behind a variable with a //go:embed directive.
func embedded(g *ssa.Global) (string, bool) {
	name, ok := embedPattern(g)
	if !ok {
		return "", false
	}
	source := g.Pkg.Prog.Fset.Position(g.Pos()).Filename
	text, err := os.ReadFile(filepath.Join(filepath.Dir(source), filepath.FromSlash(name)))
	return string(text), err == nil
}

// embedPattern finds the directive on the line above a variable. The syntax tree of another package is not at hand,
// its text is.
func embedPattern(g *ssa.Global) (string, bool) {
	at := g.Pkg.Prog.Fset.Position(g.Pos())
	if at.Line < 2 {
		return "", false
	}
	source, err := os.ReadFile(at.Filename)
	if err != nil {
		return "", false
	}
	lines := strings.Split(string(source), "\n")
	if at.Line > len(lines) {
		return "", false
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(lines[at.Line-2]), "//go:embed ")
	return strings.Trim(strings.TrimSpace(name), `"`), ok
}

// evalCommand recognises EVAL script numkeys key … in the form that Do takes.
func evalCommand(name string, args []ssa.Value) []*command {
	if len(args) < 3 {
		return nil
	}
	keys := intOf(args[1])
	if keys < 0 || keys > len(args)-2 {
		keys = 1
	}
	s := scriptText{}
	if name == "EVAL" {
		s = textOf(args[0])
	}
	return s.commands(args[2:2+keys], args[2+keys:])
}
