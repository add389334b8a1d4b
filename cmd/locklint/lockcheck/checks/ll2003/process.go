package ll2003

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/index"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file follows values that name a process through the ways in which programs come by them: a variable with a
// value for the case that there is no host name, a function of their own, a package variable that init or a sync.Once
// sets.

// ofChoice is the sameness of a variable that has one of several values, each of which names the process or is a
// constant.
func ofChoice(ix *index.Index, k keyexpr.Expr, depth int) sameness {
	var values []keyexpr.Expr
	for _, v := range choices(ix, k.Text) {
		values = append(values, keyexpr.Of(v))
	}
	return worstOf(ix, values, depth)
}

// worstOf is perHost if some values name the process and the others are constants.
func worstOf(ix *index.Index, values []keyexpr.Expr, depth int) sameness {
	worst := ownValue
	for _, v := range values {
		switch samenessOf(ix, v, depth+1) {
		case perHost:
			worst = perHost
		case always:
		default:
			return ownValue
		}
	}
	return worst
}

// choices are the values that a variable of a function may have, by the name that an expression gives it.
func choices(ix *index.Index, text string) []ssa.Value {
	for _, fn := range ix.Funcs {
		name, ok := strings.CutPrefix(text, fn.String()+".")
		if !ok {
			continue
		}
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				switch v := instr.(type) {
				case *ssa.Phi:
					if v.Name() == name {
						return v.Edges
					}
				case *ssa.Alloc:
					if v.Name() == name {
						return storedInCell(v)
					}
				}
			}
		}
	}
	return nil
}

// storedInCell is all that a variable is set to, nil if somebody else may set it.
func storedInCell(cell *ssa.Alloc) (values []ssa.Value) {
	known := ssax.EachCellUse(cell, func(instr ssa.Instruction, addr ssa.Value) bool {
		switch instr := instr.(type) {
		case *ssa.Store:
			values = append(values, instr.Val)
			return instr.Addr == addr
		case *ssa.UnOp, *ssa.DebugRef:
			return true
		}
		return false
	})
	if !known {
		return nil
	}
	return values
}

// ofFunction is the sameness of what a function of the package returns for what it is given.
func ofFunction(ix *index.Index, k keyexpr.Expr, depth int) sameness {
	name, at, _ := strings.Cut(k.Text, "#")
	index, _ := strconv.Atoi(at)
	for _, fn := range ix.Funcs {
		if fn.Parent() != nil || len(fn.Params) != len(k.Args) || len(fn.Blocks) == 0 || ssax.CalleeName(fn) != name {
			continue
		}
		var values []keyexpr.Expr
		for _, b := range fn.Blocks {
			if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && b != fn.Recover && index < len(ret.Results) {
				values = append(values, keyexpr.Of(ssax.Returned(ret, index)).Bind(k.Args))
			}
		}
		return worstOf(ix, values, depth)
	}
	return ownValue
}

// setAtStart reports whether a package variable is set in nothing but init, main or the literal of a sync.Once.
func setAtStart(ix *index.Index, g *ssa.Global) bool {
	sets := 0
	for _, fn := range ix.Funcs {
		for _, b := range fn.Blocks {
			for _, instr := range b.Instrs {
				for _, op := range instr.Operands(nil) {
					if *op != ssa.Value(g) {
						continue
					}
					switch instr := instr.(type) {
					case *ssa.UnOp, *ssa.DebugRef:
					case *ssa.Store:
						if instr.Addr != ssa.Value(g) || !runsOnce(fn) {
							return false
						}
						sets++
					default:
						return false
					}
				}
			}
		}
	}
	return sets > 0
}

// runsOnce reports whether a function runs once in a process.
func runsOnce(fn *ssa.Function) bool {
	if fn.Parent() == nil {
		return strings.HasPrefix(fn.Name(), "init#") || ssax.IsMain(fn)
	}
	taker := ssax.TakerOf(fn)
	if taker == nil {
		return false
	}
	m, ok := ssax.MethodOf(taker.Common())
	return ok && m.Obj.FullName() == "(*sync.Once).Do"
}

// keptAlive reports whether the function of an acquire goes on to prolong the lock, as one does that registers a
// process for as long as it lives, or that of a leader whose names do not say so: the lock belongs to the process on
// purpose.
func keptAlive(ix *index.Index, a *rediscmd.Command) bool {
	return slices.ContainsFunc(ix.Commands[a.Fn], func(c *rediscmd.Command) bool {
		return (c.Op == ops.Expire || c.Op == ops.CompareExpire) && c.Call != a.Call && c.Key.String() == a.Key.String() &&
			ssax.Reaches(c.Call.Block(), c.Call.Block())
	})
}

// isSeconds reports whether an expression is the time as a text without a fraction of the second.
func isSeconds(k keyexpr.Expr) bool {
	if k.Text != "(time.Time).Format" || len(k.Args) != 2 || k.Args[1].Op != keyexpr.Lit ||
		strings.ContainsAny(k.Args[1].Text, ".,") {
		return false
	}
	t := k.Args[0]
	for (t.Text == "(time.Time).UTC" || t.Text == "(time.Time).Local") && len(t.Args) == 1 {
		t = t.Args[0]
	}
	return t.Text == "time.Now"
}
