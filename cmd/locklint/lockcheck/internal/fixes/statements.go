// Package fixes has the pieces that suggested fixes are made of.
package fixes

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// TestsError reports whether a statement is if err != nil { …; return }.
func TestsError(s ast.Stmt, err string) bool {
	test, ok := s.(*ast.IfStmt)
	if !ok || test.Init != nil || !Leaves(s) {
		return false
	}
	cond, ok := test.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.NEQ {
		return false
	}
	x, ok1 := cond.X.(*ast.Ident)
	y, ok2 := cond.Y.(*ast.Ident)
	return ok1 && ok2 && x.Name == err && y.Name == "nil"
}

// IndentOf is the white space before a statement: what the line begins with, or one tab for each column, as gofmt
// writes it, if the text is not at hand.
func IndentOf(r *check.Reporter, s ast.Stmt) string {
	file := r.Pass.Fset.File(s.Pos())
	text, err := r.Pass.ReadFile(file.Name())
	at := file.Offset(s.Pos())
	if err != nil || at > len(text) {
		return strings.Repeat("\t", r.Pass.Fset.Position(s.Pos()).Column-1)
	}
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// Leaves reports whether a statement is an if without else whose body ends in return, continue, break or panic: a
// test of the outcome.
func Leaves(s ast.Stmt) bool {
	test, ok := s.(*ast.IfStmt)
	return ok && test.Else == nil && Ends(test.Body)
}

// Ends reports whether a block ends in return, continue, break or panic.
func Ends(body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	switch last := body.List[len(body.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	return false
}

// Statements is the list of statements that a node holds, nil for other nodes.
func Statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// ListAround returns the statements of the block that holds a node as a statement of its own, or inside one, and the
// index of that statement. Nil if there is none, or if a loop lies between the function and the block.
func ListAround(r *check.Reporter, n ast.Node) (list []ast.Stmt, at int) {
	for outer := range r.Around(n) {
		if list = Statements(outer); list == nil {
			continue
		}
		for i, s := range list {
			if s.Pos() <= n.Pos() && n.End() <= s.End() {
				return list, i
			}
		}
		return nil, 0
	}
	return nil, 0
}
