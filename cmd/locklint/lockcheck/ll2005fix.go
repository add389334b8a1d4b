package lockcheck

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
)

// mergeExpiry moves the time to live of a go-redis Expire into the SetNX before it. It does so only where nothing can
// tell the difference but a crash: both are direct calls of go-redis, the Expire is a statement of its own, and it
// follows the SetNX at once or after the tests of its outcome that leave the function or loop. Nil otherwise.
func (r *reporter) mergeExpiry(a, e *command) *analysis.SuggestedFix {
	setnx, expire := r.index.callExpr(a.call), r.index.callExpr(e.call)
	if setnx == nil || expire == nil || a.name != "SetNX" || e.name != "Expire" || a.via+e.via != "" ||
		a.pipe != direct || e.pipe != direct || !sameFile(r.pass.Fset, setnx.Pos(), expire.Pos()) {
		return nil
	}
	stmt := r.follows(setnx, expire)
	ttl, tail := expire.Args[len(expire.Args)-1], setnx.Args[len(setnx.Args)-1]
	if stmt == nil || !r.movable(ttl, setnx) {
		return nil
	}
	text := r.source(ttl)
	if text == nil {
		return nil
	}
	return &analysis.SuggestedFix{
		Message: "set the expiry with SetNX",
		TextEdits: []analysis.TextEdit{
			{Pos: tail.Pos(), End: tail.End(), NewText: text},
			r.deleteLine(stmt),
		},
	}
}

// follows returns the statement that is the expire call if it follows the statement of setnx as described above.
func (r *reporter) follows(setnx, expire *ast.CallExpr) ast.Stmt {
	path := r.pathTo(setnx)
	for i, n := range path {
		list := statements(n)
		if i == 0 || list == nil {
			continue
		}
		at := -1
		for j, s := range list {
			if s.Pos() <= setnx.Pos() && setnx.End() <= s.End() {
				at = j
			}
		}
		if at < 0 {
			return nil
		}
		for _, s := range list[at+1:] {
			if isExpireStatement(s, expire) {
				return s
			}
			if !leaves(s) {
				return nil
			}
		}
		return nil
	}
	return nil
}

// isExpireStatement reports whether a statement does nothing but the expire call: as a statement of its own, or in
// the form if err := Expire(…).Err(); err != nil { return … }.
func isExpireStatement(s ast.Stmt, expire *ast.CallExpr) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return isCallOn(s.X, expire)
	case *ast.IfStmt:
		assign, ok := s.Init.(*ast.AssignStmt)
		return ok && leaves(s) && assign.Tok == token.DEFINE && len(assign.Rhs) == 1 && isCallOn(assign.Rhs[0], expire)
	}
	return false
}

// isCallOn reports whether an expression is the call, or asks a result of it that nobody uses, as in Expire(…).Err().
func isCallOn(x ast.Expr, call *ast.CallExpr) bool {
	if x == ast.Expr(call) {
		return true
	}
	outer, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := outer.Fun.(*ast.SelectorExpr)
	return ok && sel.X == ast.Expr(call)
}

// leaves reports whether a statement is an if without else whose body ends in return, continue, break or panic: a
// test of the outcome.
func leaves(s ast.Stmt) bool {
	test, ok := s.(*ast.IfStmt)
	if !ok || test.Else != nil || len(test.Body.List) == 0 {
		return false
	}
	switch last := test.Body.List[len(test.Body.List)-1].(type) {
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

// movable reports whether an expression means the same where setnx stands: it is built of constants and of variables
// declared before, and calls nothing.
func (r *reporter) movable(x ast.Expr, setnx *ast.CallExpr) bool {
	ok := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if tv := r.pass.TypesInfo.Types[n.Fun]; !tv.IsType() {
				ok = false
			}
		case *ast.FuncLit, *ast.CompositeLit:
			ok = false
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW
		case *ast.Ident:
			v, isVar := r.pass.TypesInfo.Uses[n].(*types.Var)
			if isVar && v.Parent() != nil && v.Parent() != r.pass.Pkg.Scope() && v.Pos() > setnx.Pos() {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// source is the text of an expression.
func (r *reporter) source(x ast.Expr) []byte {
	var b bytes.Buffer
	if err := format.Node(&b, r.pass.Fset, x); err != nil {
		return nil
	}
	return b.Bytes()
}

// deleteLine removes a statement, and the lines it stands on if it has them to itself.
func (r *reporter) deleteLine(s ast.Stmt) analysis.TextEdit {
	edit := analysis.TextEdit{Pos: s.Pos(), End: s.End()}
	file := r.pass.Fset.File(s.Pos())
	text, err := r.pass.ReadFile(file.Name())
	if err != nil || len(text) != file.Size() {
		return edit
	}
	start, end := file.Offset(s.Pos()), file.Offset(s.End())
	first := bytes.LastIndexByte(text[:start], '\n') + 1
	last := bytes.IndexByte(text[end:], '\n')
	if last < 0 || len(bytes.TrimSpace(text[first:start])) > 0 || len(bytes.TrimSpace(text[end:end+last])) > 0 {
		return edit
	}
	return analysis.TextEdit{Pos: file.Pos(first), End: file.Pos(end + last + 1)}
}

// pathTo returns the nodes around a node, innermost first.
func (r *reporter) pathTo(n ast.Node) []ast.Node {
	for _, f := range r.pass.Files {
		if f.FileStart <= n.Pos() && n.Pos() < f.FileEnd {
			path, _ := astutil.PathEnclosingInterval(f, n.Pos(), n.End())
			return path
		}
	}
	return nil
}

// statements is the list of statements that a node holds, nil for other nodes.
func statements(n ast.Node) []ast.Stmt {
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

func sameFile(fset *token.FileSet, a, b token.Pos) bool { return fset.File(a) == fset.File(b) }
