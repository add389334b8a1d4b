package gen

import (
	"context"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// upgrades reports functions that hold a key together with others and reach the wrapper of one that holds the same
// template alone: that waits for itself, and the runtime refuses it. It follows calls that lead to one place only.
// Bodies are read only where some template is held in both ways, and left alone while they do not compile.
func (g *generator) upgrades(ctx context.Context, made []File) []problem.Problem {
	var together []*bound.Func
	wrappers := map[funcID]*bound.Func{}
	alone := map[string]bool{}
	for _, u := range g.Funcs {
		if u.Set.Test {
			continue
		}
		wrappers[idOfUnit(u, u.Name)] = u
		for _, key := range u.Keys {
			alone[key.Shape()] = alone[key.Shape()] || exclusive(key)
		}
	}
	for _, u := range g.Funcs {
		if !u.Set.Test && slices.ContainsFunc(u.Keys, func(k *directive.BoundKey) bool { return !exclusive(k) && alone[k.Shape()] }) {
			together = append(together, u)
		}
	}
	if len(together) == 0 {
		return nil
	}
	pkgs, err := g.Bodies(ctx, overlay(made))
	if err != nil {
		g.Program.Config.Logf("nested locks are not looked at: %v", err)
		return nil
	}
	calls := certainCalls(pkgs)
	var found []problem.Problem
	for _, u := range together {
		found = append(found, g.upgradesOf(u, calls, wrappers)...)
	}
	return found
}

func exclusive(key *directive.BoundKey) bool { return !key.Key.Reads() && key.Key.Permits == nil }

// upgradesOf follows the calls of one function, breadth first.
func (g *generator) upgradesOf(u *bound.Func, calls map[funcID][]funcID, wrappers map[funcID]*bound.Func) []problem.Problem {
	type step struct {
		id   funcID
		path []string
	}
	start := idOfUnit(u, u.Decl.Name.Name)
	seen := map[funcID]bool{start: true}
	var found []problem.Problem
	for todo := []step{{start, []string{start.short()}}}; len(todo) > 0; todo = todo[1:] {
		at := todo[0]
		for _, id := range calls[at.id] {
			if seen[id] {
				continue
			}
			seen[id] = true
			path := append(slices.Clip(at.path), id.short())
			if inner := wrappers[id]; inner != nil {
				found = append(found, g.upgrade(u, inner, strings.Join(path, " → "))...)
			} else {
				todo = append(todo, step{id, path})
			}
		}
	}
	return found
}

// upgrade reports the keys that a function holds together with others, and one that it reaches alone.
func (g *generator) upgrade(u, inner *bound.Func, path string) []problem.Problem {
	var found []problem.Problem
	for _, outer := range u.Keys {
		for _, key := range inner.Keys {
			if exclusive(outer) || !exclusive(key) || outer.Shape() != key.Shape() {
				continue
			}
			at := g.Files.Fset.PositionFor(key.Key.Pos, false)
			found = append(found, problem.At(g.Files.Fset, outer.Key.Pos, outer.Key.End, "upgrade",
				"%s holds this key together with others, and %s takes it alone (%s:%d): to do so it would wait for them, and two "+
					"that do it for each other; return first, call %s, and look again at what was read", u.Decl.Name.Name, path,
				files.Name(files.Relative(g.cfg.Dir, at.Filename)), at.Line, inner.Name))
		}
	}
	return found
}

// certainCalls are the functions that each function of some packages calls itself, by a name that means one function.
// What it starts in a goroutine or hands on does not count: that may run when nothing is held.
func certainCalls(pkgs []*packages.Package) map[funcID][]funcID {
	all := map[funcID][]funcID{}
	for _, p := range pkgs {
		for _, file := range p.Syntax {
			for _, decl := range file.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
					all[idOf(obj)] = callees(p.TypesInfo, fn.Body)
				}
			}
		}
	}
	return all
}

func callees(info *types.Info, body ast.Node) []funcID {
	var list []funcID
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt, *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if lit, ok := ast.Unparen(node.Fun).(*ast.FuncLit); ok {
				list = append(list, callees(info, lit.Body)...)
			}
			fn, ok := info.Uses[calledName(node.Fun)].(*types.Func)
			if recv := methodRecv(fn); ok && (recv == nil || !types.IsInterface(recv.Type())) {
				list = append(list, idOf(fn))
			}
		}
		return true
	})
	return list
}

func methodRecv(fn *types.Func) *types.Var {
	if fn == nil {
		return nil
	}
	return fn.Signature().Recv()
}

// calledName is the name by which a call says what it calls, nil if it computes that.
func calledName(fun ast.Expr) *ast.Ident {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	case *ast.IndexExpr:
		return calledName(fun.X)
	case *ast.IndexListExpr:
		return calledName(fun.X)
	}
	return nil
}
