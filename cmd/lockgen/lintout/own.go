package main

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// What the tools leave to others that cannot be imported.
var own = []*analysis.Analyzer{
	check("unusedparam", "report named parameters and receivers that are never read", unreadParams),
	check("predeclared", "report declarations that hide what the language declares", hidesPredeclared),
	check("unconvert", "report conversions of a value to the type that it has", needlessConversion),
	check("droppederror", "report calls whose error nobody looks at", droppedError),
}

// check is the analyzer that looks at every node.
func check(name, doc string, look func(*analysis.Pass, ast.Node)) *analysis.Analyzer {
	return &analysis.Analyzer{Name: name, Doc: doc, Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			for n := range ast.Preorder(file) {
				look(pass, n)
			}
		}
		return nil, nil
	}}
}

func unreadParams(pass *analysis.Pass, n ast.Node) {
	var fields []*ast.Field
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.FuncDecl:
		fields, body = n.Type.Params.List, n.Body
		if n.Recv != nil {
			fields = append(fields[:len(fields):len(fields)], n.Recv.List...)
		}
	case *ast.FuncLit:
		fields, body = n.Type.Params.List, n.Body
	}
	if body == nil {
		return
	}
	read := map[types.Object]bool{}
	for n := range ast.Preorder(body) {
		if id, ok := n.(*ast.Ident); ok {
			read[pass.TypesInfo.Uses[id]] = true
		}
	}
	for _, field := range fields {
		for _, id := range field.Names {
			if id.Name != "_" && !read[pass.TypesInfo.Defs[id]] {
				pass.Reportf(id.Pos(), "%s is never read", id.Name)
			}
		}
	}
}

func hidesPredeclared(pass *analysis.Pass, n ast.Node) {
	id, ok := n.(*ast.Ident)
	if !ok || types.Universe.Lookup(id.Name) == nil {
		return
	}
	switch obj := pass.TypesInfo.Defs[id].(type) {
	case nil:
		return
	case *types.Var:
		if obj.IsField() {
			return
		}
	case *types.Func:
		if obj.Signature().Recv() != nil {
			return
		}
	}
	pass.Reportf(id.Pos(), "%s hides Go's own", id.Name)
}

func needlessConversion(pass *analysis.Pass, n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !pass.TypesInfo.Types[call.Fun].IsType() {
		return
	}
	to := pass.TypesInfo.TypeOf(call.Fun)
	if types.Identical(to, pass.TypesInfo.TypeOf(call.Args[0])) {
		pass.Reportf(call.Pos(), "the value is a %s already", to)
	}
}

func droppedError(pass *analysis.Pass, n ast.Node) {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return
	}
	call, ok := stmt.X.(*ast.CallExpr)
	if !ok {
		return
	}
	sig, ok := pass.TypesInfo.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok {
		return // of the language
	}
	for v := range sig.Results().Variables() {
		if types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
			pass.Reportf(call.Pos(), "the error is dropped")
		}
	}
}
