package lockcheck

import (
	"errors"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// This file reduces the syntax tree of a script to what luaflow.go reads. What cannot be read is an unknown script,
// about which every check is silent.

// A luaExpr is an expression. What the flow analysis has no use for has kind "?".
type luaExpr struct {
	kind string // "str", "num", "name", "const" (nil, true, false), "call", "index", "bin", "not", "?"
	text string // the string, number, name, constant or operator
	args []*luaExpr
}

// A luaStmt is a statement.
type luaStmt struct {
	kind  string     // "assign", "expr", "if", "loop", "block", "return", "break"
	names []*luaExpr // of assign: what is assigned
	exprs []*luaExpr // values; of if: the condition
	body  [][]*luaStmt
}

var luaUnknown = &luaExpr{kind: "?"}

// The bounds of what is read, so that no text can exhaust the stack.
const (
	maxLuaDepth = 200
	maxLuaText  = 1 << 20
)

var errLua = errors.New("not readable as Lua")

// parseLua reads a whole script.
func parseLua(text string) ([]*luaStmt, error) {
	if len(text) > maxLuaText {
		return nil, errLua
	}
	chunk, err := parse.Parse(strings.NewReader(text), "script")
	if err != nil {
		return nil, err
	}
	r := &luaReader{}
	block := r.block(chunk)
	if r.failed {
		return nil, errLua
	}
	return block, nil
}

// A luaReader walks the syntax tree. It fails on functions, whose calls would have to be followed, and on jumps.
type luaReader struct {
	depth  int
	failed bool
}

// enter counts the levels of the tree.
func (r *luaReader) enter() (ok bool) {
	r.depth++
	r.failed = r.failed || r.depth > maxLuaDepth
	return !r.failed
}

func (r *luaReader) block(list []ast.Stmt) []*luaStmt {
	defer func() { r.depth-- }()
	if !r.enter() {
		return nil
	}
	var out []*luaStmt
	for _, s := range list {
		out = append(out, r.stmt(s))
	}
	return out
}

func (r *luaReader) stmt(s ast.Stmt) *luaStmt {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		out := &luaStmt{kind: "assign", exprs: r.exprs(s.Exprs)}
		for _, name := range s.Names {
			out.names = append(out.names, &luaExpr{kind: "name", text: name})
		}
		return out
	case *ast.AssignStmt:
		return &luaStmt{kind: "assign", names: r.exprs(s.Lhs), exprs: r.exprs(s.Rhs)}
	case *ast.FuncCallStmt:
		x := r.expr(s.Expr)
		r.failed = r.failed || x.kind != "call" // a method: nobody knows of what
		return &luaStmt{kind: "expr", exprs: []*luaExpr{x}}
	case *ast.IfStmt:
		out := &luaStmt{kind: "if", exprs: r.exprs([]ast.Expr{s.Condition}), body: [][]*luaStmt{r.block(s.Then)}}
		if len(s.Else) > 0 {
			out.body = append(out.body, r.block(s.Else))
		}
		return out
	case *ast.DoBlockStmt:
		return &luaStmt{kind: "block", body: [][]*luaStmt{r.block(s.Stmts)}}
	case *ast.WhileStmt:
		return r.loop(s.Stmts, s.Condition)
	case *ast.RepeatStmt:
		return r.loop(s.Stmts, s.Condition)
	case *ast.NumberForStmt:
		return r.loop(s.Stmts, s.Init, s.Limit)
	case *ast.GenericForStmt:
		return r.loop(s.Stmts, s.Exprs...)
	case *ast.ReturnStmt:
		return &luaStmt{kind: "return", exprs: r.exprs(s.Exprs)}
	case *ast.BreakStmt:
		return &luaStmt{kind: "break"}
	}
	r.failed = true
	return nil
}

func (r *luaReader) loop(body []ast.Stmt, exprs ...ast.Expr) *luaStmt {
	return &luaStmt{kind: "loop", exprs: r.exprs(exprs), body: [][]*luaStmt{r.block(body)}}
}

func (r *luaReader) exprs(list []ast.Expr) []*luaExpr {
	var out []*luaExpr
	for _, x := range list {
		out = append(out, r.expr(x))
	}
	return out
}

func (r *luaReader) expr(x ast.Expr) *luaExpr {
	defer func() { r.depth-- }()
	if !r.enter() {
		return luaUnknown
	}
	switch x := x.(type) {
	case *ast.StringExpr:
		return &luaExpr{kind: "str", text: x.Value}
	case *ast.NumberExpr:
		return &luaExpr{kind: "num", text: x.Value}
	case *ast.TrueExpr:
		return &luaExpr{kind: "const", text: "true"}
	case *ast.FalseExpr:
		return &luaExpr{kind: "const", text: "false"}
	case *ast.NilExpr:
		return &luaExpr{kind: "const", text: "nil"}
	case *ast.IdentExpr:
		return &luaExpr{kind: "name", text: x.Value}
	case *ast.AttrGetExpr:
		return &luaExpr{kind: "index", args: r.exprs([]ast.Expr{x.Object, x.Key})}
	case *ast.FuncCallExpr:
		if x.Func == nil { // a method
			return luaUnknown
		}
		return &luaExpr{kind: "call", args: append(r.exprs([]ast.Expr{x.Func}), r.exprs(x.Args)...)}
	case *ast.UnaryNotOpExpr:
		return &luaExpr{kind: "not", args: r.exprs([]ast.Expr{x.Expr})}
	case *ast.UnaryMinusOpExpr:
		if n, ok := x.Expr.(*ast.NumberExpr); ok {
			return &luaExpr{kind: "num", text: "-" + n.Value}
		}
	}
	return r.binary(x)
}

func (r *luaReader) binary(x ast.Expr) *luaExpr {
	op, sides := "", []ast.Expr(nil)
	switch x := x.(type) {
	case *ast.LogicalOpExpr:
		op, sides = x.Operator, []ast.Expr{x.Lhs, x.Rhs}
	case *ast.RelationalOpExpr:
		op, sides = x.Operator, []ast.Expr{x.Lhs, x.Rhs}
	case *ast.ArithmeticOpExpr:
		op, sides = x.Operator, []ast.Expr{x.Lhs, x.Rhs}
	case *ast.StringConcatOpExpr:
		op, sides = "..", []ast.Expr{x.Lhs, x.Rhs}
	case *ast.FunctionExpr:
		r.failed = true
		return luaUnknown
	default:
		return luaUnknown
	}
	return &luaExpr{kind: "bin", text: op, args: r.exprs(sides)}
}

// redisCall returns the command and its arguments if an expression is a call of redis.call or redis.pcall with a
// constant command.
func (x *luaExpr) redisCall() (name string, args []*luaExpr, ok bool) {
	if x.kind != "call" || len(x.args) < 2 || x.args[1].kind != "str" {
		return "", nil, false
	}
	fn := x.args[0]
	if fn.kind != "index" || fn.args[0].kind != "name" || fn.args[1].kind != "str" {
		return "", nil, false
	}
	if lib := fn.args[0].text; lib != "redis" && lib != "server" {
		return "", nil, false
	}
	if f := fn.args[1].text; f != "call" && f != "pcall" {
		return "", nil, false
	}
	return upper(x.args[1].text), x.args[2:], true
}
