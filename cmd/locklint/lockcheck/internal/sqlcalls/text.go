package sqlcalls

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// maxDepth bounds how far values are followed.
const maxDepth = 6

// text is the text of a statement: of a constant, of a variable that is given one and nothing else, of a format, or of
// a sum of such. What is not known in it becomes a question mark. False if nothing is known.
func (f *finder) text(x ast.Expr, depth int) (string, bool) {
	x = ast.Unparen(x)
	tv := f.pass.TypesInfo.Types[x]
	if tv.Value != nil {
		if tv.Value.Kind() != constant.String {
			return "", false
		}
		return constant.StringVal(tv.Value), true
	}
	if depth > maxDepth {
		return "", false
	}
	switch x := x.(type) {
	case *ast.Ident:
		return f.textOfVariable(x, depth)
	case *ast.BinaryExpr:
		if x.Op != token.ADD {
			return "", false
		}
		left, known := f.text(x.X, depth+1)
		right, alsoKnown := f.text(x.Y, depth+1)
		return orMark(left, known) + orMark(right, alsoKnown), known || alsoKnown
	case *ast.CallExpr:
		if name := f.calleeName(x); (name == "fmt.Sprintf" || name == "strings.TrimSpace") && len(x.Args) > 0 {
			return f.text(x.Args[0], depth+1)
		}
	}
	return "", false
}

func orMark(text string, known bool) string {
	if !known {
		return "?"
	}
	return text
}

func (f *finder) textOfVariable(x *ast.Ident, depth int) (string, bool) {
	v, ok := f.pass.TypesInfo.Uses[x].(*types.Var)
	if !ok || f.assigned[v] == nil {
		return "", false
	}
	return f.text(f.assigned[v], depth+1)
}

// calleeName is the full name of a function that a call names.
func (f *finder) calleeName(x *ast.CallExpr) string {
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	fn, ok := f.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok {
		return ""
	}
	return strings.TrimPrefix(fn.FullName(), "vendor/")
}

// findAssignments finds the variables that have one value in the text of the package.
func (f *finder) findAssignments() {
	give := func(name *ast.Ident, value ast.Expr) {
		v, ok := f.pass.TypesInfo.ObjectOf(name).(*types.Var)
		if !ok {
			return
		}
		if _, again := f.assigned[v]; again {
			value = nil
		}
		f.assigned[v] = value
	}
	for cur := range f.root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.UnaryExpr)(nil),
		(*ast.RangeStmt)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := ast.Unparen(left).(*ast.Ident); ok {
					give(name, valueOf(n, i))
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				switch {
				case len(n.Values) == len(n.Names):
					give(name, n.Values[i])
				case len(n.Values) == 1:
					give(name, n.Values[0])
				}
			}
		case *ast.UnaryExpr:
			if name, ok := ast.Unparen(n.X).(*ast.Ident); ok && n.Op == token.AND {
				give(name, nil)
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if name, ok := left.(*ast.Ident); ok {
					give(name, nil)
				}
			}
		}
	}
}

// valueOf is what an assignment gives to its i-th variable: the call that returns it where there are several results,
// nil for += and its like.
func valueOf(n *ast.AssignStmt, i int) ast.Expr {
	switch {
	case n.Tok != token.ASSIGN && n.Tok != token.DEFINE:
		return nil
	case len(n.Rhs) == len(n.Lhs):
		return n.Rhs[i]
	case i == 0:
		return n.Rhs[0]
	}
	return nil
}
