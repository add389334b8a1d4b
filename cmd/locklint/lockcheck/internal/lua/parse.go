package lua

import (
	"errors"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// This file reduces the syntax tree of a script to what luaflow.go reads. What cannot be read is an unknown script,
// about which every check is silent.

// A Expr is an expression. What the flow analysis has no use for has kind "?".
type Expr struct {
	Kind string // "str", "num", "name", "const" (nil, true, false), "call", "index", "bin", "not", "each", "?"
	Text string // the string, number, name, constant or operator
	Args []*Expr
}

// A stmt is a statement.
type stmt struct {
	kind  string  // "assign", "expr", "if", "loop", "each", "block", "return", "break"
	names []*Expr // of assign: what is assigned
	exprs []*Expr // values; of if: the condition
	body  [][]*stmt
}

var unknown = &Expr{Kind: "?"}

// The bounds of what is read, so that no text can exhaust the stack.
const (
	maxDepth = 200
	maxText  = 1 << 20
)

var errUnreadable = errors.New("not readable as Lua")

// parseScript reads a whole script.
func parseScript(text string) ([]*stmt, error) {
	if len(text) > maxText {
		return nil, errUnreadable
	}
	chunk, err := parse.Parse(strings.NewReader(text), "script")
	if err != nil {
		return nil, err
	}
	r := &reader{}
	block := r.block(chunk)
	if r.failed {
		return nil, errUnreadable
	}
	return block, nil
}

// A reader walks the syntax tree. It fails on functions, whose calls would have to be followed, and on jumps.
type reader struct {
	depth  int
	failed bool
	loops  []eachKey // those around what is read
}

// enter counts the levels of the tree.
func (r *reader) enter() (ok bool) {
	r.depth++
	r.failed = r.failed || r.depth > maxDepth
	return !r.failed
}

func (r *reader) block(list []ast.Stmt) []*stmt {
	defer func() { r.depth-- }()
	if !r.enter() {
		return nil
	}
	var out []*stmt
	for _, s := range list {
		out = append(out, r.stmt(s))
	}
	return out
}

func (r *reader) stmt(s ast.Stmt) *stmt {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		out := &stmt{kind: "assign", exprs: r.exprs(s.Exprs)}
		for _, name := range s.Names {
			out.names = append(out.names, &Expr{Kind: "name", Text: name})
		}
		return out
	case *ast.AssignStmt:
		return &stmt{kind: "assign", names: r.exprs(s.Lhs), exprs: r.exprs(s.Rhs)}
	case *ast.FuncCallStmt:
		x := r.expr(s.Expr)
		r.failed = r.failed || x.Kind != "call" // a method: nobody knows of what
		return &stmt{kind: "expr", exprs: []*Expr{x}}
	case *ast.IfStmt:
		out := &stmt{kind: "if", exprs: r.exprs([]ast.Expr{s.Condition}), body: [][]*stmt{r.block(s.Then)}}
		if len(s.Else) > 0 {
			out.body = append(out.body, r.block(s.Else))
		}
		return out
	case *ast.DoBlockStmt:
		return &stmt{kind: "block", body: [][]*stmt{r.block(s.Stmts)}}
	case *ast.WhileStmt:
		return r.loop(s.Stmts, s.Condition)
	case *ast.RepeatStmt:
		return r.loop(s.Stmts, s.Condition)
	case *ast.NumberForStmt:
		if overKeys(s) {
			return r.each(eachKey{index: s.Name}, s.Stmts)
		}
		return r.loop(s.Stmts, s.Init, s.Limit)
	case *ast.GenericForStmt:
		if names, ok := rangesOverKeys(s); ok {
			return r.each(names, s.Stmts)
		}
		return r.loop(s.Stmts, s.Exprs...)
	case *ast.ReturnStmt:
		return &stmt{kind: "return", exprs: r.exprs(s.Exprs)}
	case *ast.BreakStmt:
		return &stmt{kind: "break"}
	}
	r.failed = true
	return nil
}

func (r *reader) loop(body []ast.Stmt, exprs ...ast.Expr) *stmt {
	return &stmt{kind: "loop", exprs: r.exprs(exprs), body: [][]*stmt{r.block(body)}}
}

func (r *reader) exprs(list []ast.Expr) []*Expr {
	var out []*Expr
	for _, x := range list {
		out = append(out, r.expr(x))
	}
	return out
}

func (r *reader) expr(x ast.Expr) *Expr {
	defer func() { r.depth-- }()
	if !r.enter() {
		return unknown
	}
	switch x := x.(type) {
	case *ast.StringExpr:
		return &Expr{Kind: "str", Text: x.Value}
	case *ast.NumberExpr:
		return &Expr{Kind: "num", Text: x.Value}
	case *ast.TrueExpr:
		return &Expr{Kind: "const", Text: "true"}
	case *ast.FalseExpr:
		return &Expr{Kind: "const", Text: "false"}
	case *ast.NilExpr:
		return &Expr{Kind: "const", Text: "nil"}
	case *ast.IdentExpr:
		if r.isEach(x) {
			return anyKey
		}
		return &Expr{Kind: "name", Text: x.Value}
	case *ast.AttrGetExpr:
		if r.isEach(x) {
			return anyKey
		}
		return &Expr{Kind: "index", Args: r.exprs([]ast.Expr{x.Object, x.Key})}
	case *ast.FuncCallExpr:
		if x.Func == nil { // a method
			return unknown
		}
		return &Expr{Kind: "call", Args: append(r.exprs([]ast.Expr{x.Func}), r.exprs(x.Args)...)}
	case *ast.UnaryNotOpExpr:
		return &Expr{Kind: "not", Args: r.exprs([]ast.Expr{x.Expr})}
	case *ast.UnaryMinusOpExpr:
		if n, ok := x.Expr.(*ast.NumberExpr); ok {
			return &Expr{Kind: "num", Text: "-" + n.Value}
		}
	}
	return r.binary(x)
}

func (r *reader) binary(x ast.Expr) *Expr {
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
		return unknown
	default:
		return unknown
	}
	return &Expr{Kind: "bin", Text: op, Args: r.exprs(sides)}
}

// redisCall returns the command and its arguments if an expression is a call of redis.call or redis.pcall with a
// constant command.
func (x *Expr) redisCall() (name string, args []*Expr, ok bool) {
	if x.Kind != "call" || len(x.Args) < 2 || x.Args[1].Kind != "str" {
		return "", nil, false
	}
	fn := x.Args[0]
	if fn.Kind != "index" || fn.Args[0].Kind != "name" || fn.Args[1].Kind != "str" {
		return "", nil, false
	}
	if lib := fn.Args[0].Text; lib != "redis" && lib != "server" {
		return "", nil, false
	}
	if f := fn.Args[1].Text; f != "call" && f != "pcall" {
		return "", nil, false
	}
	return upper(x.Args[1].Text), x.Args[2:], true
}
