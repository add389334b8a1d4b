package lockcheck

import (
	"regexp"

	"golang.org/x/tools/go/ssa"
)

var (
	scriptDeletes  = regexp.MustCompile(`(?i)['"](del|unlink)['"]`)
	scriptCompares = regexp.MustCompile(`(?i)['"](get|hget|hexists|getdel)['"]`)
	scriptSets     = regexp.MustCompile(`(?i)['"]setnx['"]|['"]nx['"]`)
)

// scriptOp says what a Lua script does to its first key. A script that cannot be read, or does something else, is
// taken for a correct release: silence is better than a guess.
func scriptOp(text string, known bool) op {
	switch {
	case !known:
		return opCompareDel
	case scriptSets.MatchString(text):
		return opNone
	case scriptDeletes.MatchString(text) && !scriptCompares.MatchString(text):
		return opDelete
	case scriptDeletes.MatchString(text):
		return opCompareDel
	}
	return opNone
}

// goRedisScript recognises Eval(ctx, script, keys, args…) and script.Run(ctx, client, keys, args…).
func goRedisScript(m method) []*command {
	text, known := "", false
	if namedIn(m.recv.Type(), goRedis) == "Script" {
		text, known = scriptText(m.recv)
	} else if m.obj.Name() == "Eval" || m.obj.Name() == "EvalRO" {
		text, known = stringValue(m.arg(0))
	}
	o := scriptOp(text, known)
	keys, ok := variadic(m.arg(1))
	if o == opNone || !ok || len(keys) == 0 {
		return nil
	}
	return []*command{{op: o, name: "EVAL", key: keyOf(keys[0])}}
}

// evalCommand recognises EVAL script numkeys key … in the form that Do takes.
func evalCommand(args []ssa.Value) []*command {
	if len(args) < 3 {
		return nil
	}
	o := scriptOp(stringValue(args[0]))
	if o == opNone {
		return nil
	}
	return []*command{{op: o, name: "EVAL", key: keyOf(args[2])}}
}

// scriptText finds the source that a script value was made from: NewScript is called on the spot, or once for a
// package variable.
func scriptText(v ssa.Value) (string, bool) {
	switch v := v.(type) {
	case *ssa.Call:
		m, ok := methodOf(&v.Call)
		if !ok || m.obj.Name() != "NewScript" || len(m.args) == 0 {
			return "", false
		}
		return stringValue(m.args[len(m.args)-1])
	case *ssa.UnOp:
		switch addr := cellOf(v.X).(type) {
		case *ssa.Global:
			return globalScript(addr)
		case *ssa.Alloc:
			if stored, ok := onlyStore(addr); ok {
				return scriptText(stored)
			}
		}
	}
	return "", false
}

// globalScript reads the initial value of a package variable of the package under analysis.
func globalScript(g *ssa.Global) (string, bool) {
	if v := globalInit(g); v != nil {
		return scriptText(v)
	}
	return "", false
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

// stringValue is a constant string, or a package variable that starts as one.
func stringValue(v ssa.Value) (string, bool) {
	if v == nil {
		return "", false
	}
	if mi, ok := v.(*ssa.MakeInterface); ok {
		v = mi.X
	}
	if load, ok := v.(*ssa.UnOp); ok {
		switch addr := cellOf(load.X).(type) {
		case *ssa.Global:
			if v = globalInit(addr); v == nil {
				return "", false
			}
		case *ssa.Alloc:
			stored, ok := onlyStore(addr)
			if !ok {
				return "", false
			}
			v = stored
		}
	}
	return constString(v)
}
