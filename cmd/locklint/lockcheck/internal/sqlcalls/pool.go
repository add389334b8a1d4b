package sqlcalls

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// OneConnection reports whether a package limits a pool to one connection: then all statements share a session.
func OneConnection(pass *analysis.Pass) bool {
	return mentions(pass, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		value := pass.TypesInfo.Types[call.Args[0]].Value
		return ok && sel.Sel.Name == "SetMaxOpenConns" && value != nil && value.ExactString() == "1"
	})
}

// MentionsUnlock reports whether some text in a package ends locks of the session.
func MentionsUnlock(pass *analysis.Pass) bool {
	return mentions(pass, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		return ok && unlock.MatchString(lit.Value)
	})
}

// GivesBack reports whether a package gives connections of a type back to their pool.
func GivesBack(pass *analysis.Pass, conn types.Type) bool {
	return mentions(pass, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Close" && sel.Sel.Name != "Release" {
			return false
		}
		return typeName(pass.TypesInfo.TypeOf(sel.X)) == typeName(conn)
	})
}

// mentions reports whether some node of a package outside of its tests fits.
func mentions(pass *analysis.Pass, fits func(ast.Node) bool) bool {
	found := false
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(file.FileStart).Filename, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			found = found || n != nil && fits(n)
			return !found
		})
	}
	return found
}
