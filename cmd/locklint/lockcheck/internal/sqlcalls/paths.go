package sqlcalls

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/cfg"
)

// LeftLocked returns the first way out, in source order, on which a function that unlocks elsewhere leaves the lock of
// a statement behind; nil if there is none. A function without any unlock takes the lock for somebody else.
func (c *Call) LeftLocked(pass *analysis.Pass) *ast.ReturnStmt {
	if _, last := chain(c.At); strings.HasPrefix(c.Name, "Query") && last != "Scan" {
		return nil // the answer is read from a row in a variable
	}
	w := &walk{pass: pass, call: c, seen: map[string]bool{}}
	body := w.body()
	if body == nil || !mentionsUnlock(body) {
		return nil
	}
	graph := cfg.New(body, func(x *ast.CallExpr) bool { return !exits(pass, x) })
	for _, b := range graph.Blocks {
		for i, n := range b.Nodes {
			if within(c.Expr, n) {
				w.outcome(n)
				w.follow(b, i+1, w.about)
				return w.left
			}
			if _, ok := n.(*ast.DeferStmt); ok && w.ends(n) {
				return nil // deferred before the lock
			}
		}
	}
	return nil
}

// A walk follows the ways from a statement that takes a lock.
type walk struct {
	pass  *analysis.Pass
	call  *Call
	about map[*types.Var]bool // variables that say whether the lock was taken
	seen  map[string]bool
	left  *ast.ReturnStmt
}

// body is that of the innermost function around the statement.
func (w *walk) body() *ast.BlockStmt {
	for c := range w.call.At.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch fn := c.Node().(type) {
		case *ast.FuncDecl:
			return fn.Body
		case *ast.FuncLit:
			return fn.Body
		}
	}
	return nil
}

// outcome collects the variables that a statement sets to the answer or the error of the lock.
func (w *walk) outcome(n ast.Node) {
	w.about = map[*types.Var]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				w.add(left)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				w.add(n.X)
			}
		}
		return true
	})
}

func (w *walk) add(x ast.Expr) {
	if v := w.variable(x); v != nil {
		w.about[v] = true
	}
}

func (w *walk) variable(x ast.Expr) *types.Var {
	name, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := w.pass.TypesInfo.ObjectOf(name).(*types.Var)
	return v
}

// follow walks on from the i-th node of a block, with the variables that still say whether the lock was taken.
func (w *walk) follow(b *cfg.Block, i int, about map[*types.Var]bool) {
	key := stateKey(b, i, about)
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	for _, n := range b.Nodes[i:] {
		if w.ends(n) {
			return
		}
		if ret, ok := n.(*ast.ReturnStmt); ok {
			if !w.mentions(ret, about) && !w.handsOn(ret) && (w.left == nil || ret.Pos() < w.left.Pos()) {
				w.left = ret
			}
			return
		}
		about = w.without(about, n)
	}
	if len(b.Succs) != 2 || len(b.Nodes) == 0 {
		for _, s := range b.Succs {
			w.follow(s, 0, about)
		}
		return
	}
	cond, ok := b.Nodes[len(b.Nodes)-1].(ast.Expr)
	if !ok || !w.mentions(cond, about) {
		w.follow(b.Succs[0], 0, about)
		w.follow(b.Succs[1], 0, about)
		return
	}
	if got := w.success(cond, about); got >= 0 {
		w.follow(b.Succs[got], 0, about)
	}
}

// stateKey identifies where a walk is and what it knows.
func stateKey(b *cfg.Block, i int, about map[*types.Var]bool) string {
	var places []int
	for v := range about {
		places = append(places, int(v.Pos()))
	}
	slices.Sort(places)
	return fmt.Sprint(b.Index, i, places)
}

// without takes out of a set what a node assigns to.
func (w *walk) without(about map[*types.Var]bool, n ast.Node) map[*types.Var]bool {
	assign, ok := n.(*ast.AssignStmt)
	if !ok {
		return about
	}
	rest := maps.Clone(about)
	for _, left := range assign.Lhs {
		delete(rest, w.variable(left))
	}
	return rest
}

func (w *walk) mentions(n ast.Node, about map[*types.Var]bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && about[w.variable(name)]
		return !found
	})
	return found
}

// success says which branch of a condition about the answer has the lock, -1 if that is not known.
func (w *walk) success(cond ast.Expr, about map[*types.Var]bool) int {
	switch x := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if got := w.success(x.X, about); x.Op == token.NOT && got >= 0 {
			return 1 - got
		}
	case *ast.BinaryExpr:
		return w.successOfPair(x, about)
	default:
		if about[w.variable(cond)] {
			return 0 // if acquired
		}
	}
	return -1
}

// successOfPair is success for two conditions, of which one is enough to tell, and for a comparison.
func (w *walk) successOfPair(x *ast.BinaryExpr, about map[*types.Var]bool) int {
	if x.Op == token.LOR || x.Op == token.LAND {
		decides := 0 // err == nil && acquired
		if x.Op == token.LOR {
			decides = 1 // err != nil || !acquired
		}
		if w.success(x.X, about) == decides || w.success(x.Y, about) == decides {
			return decides
		}
		return -1
	}
	if about[w.variable(x.X)] && w.isNil(x.Y) {
		if x.Op == token.NEQ {
			return 1 // if err != nil
		}
		return 0
	}
	value := w.pass.TypesInfo.Types[x.Y].Value
	if value == nil || !w.mentions(x.X, about) {
		return -1
	}
	switch x.Op.String() + value.ExactString() {
	case "==1", "!=0", ">0", ">=1", "==true":
		return 0
	case "!=1", "==0", "<1", "<=0", "==false":
		return 1
	}
	return -1
}

func (w *walk) isNil(x ast.Expr) bool { return w.pass.TypesInfo.Types[x].IsNil() }

// endWord marks calls of functions that may unlock.
var endWord = regexp.MustCompile(`(?i)unlock|release`)

// ends reports whether a node, or a literal in it, unlocks, calls what may do so, or hands the matter on.
func (w *walk) ends(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			found = found || unlock.MatchString(n.Value)
		case *ast.Ident:
			found = found || endWord.MatchString(n.Name)
		}
		return !found
	})
	return found
}

func within(inner, outer ast.Node) bool {
	return outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
}

// exits reports whether a call never returns.
func exits(pass *analysis.Pass, x *ast.CallExpr) bool {
	switch fn := ast.Unparen(x.Fun).(type) {
	case *ast.Ident:
		_, builtin := pass.TypesInfo.Uses[fn].(*types.Builtin)
		return builtin && fn.Name == "panic"
	case *ast.SelectorExpr:
		return strings.HasPrefix(fn.Sel.Name, "Fatal") || fn.Sel.Name == "Exit" || strings.HasPrefix(fn.Sel.Name, "Panic")
	}
	return false
}
