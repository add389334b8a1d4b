package sqlcalls

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// An Attention says how much of the answer of a try a program looks at.
type Attention uint8

const (
	Attentive Attention = iota // the answer is looked at, or goes where it may be
	Dropped                    // the statement is sent in a way that has no answer, or the answer is dropped
	Unread                     // the answer is read from the database, and never looked at
	OnlyValid                  // all that is asked is whether the answer is NULL
)

// AttentionTo says what is done with the answer of a try. It is attentive in case of doubt.
func (c *Call) AttentionTo(pass *analysis.Pass) Attention {
	if strings.HasPrefix(c.Name, "Exec") || c.Name == "MustExec" || c.Name == "MustExecContext" {
		return Dropped
	}
	top, last := chain(c.At)
	variables, known := destinations(pass, top, c.At)
	switch {
	case !known:
		return Attentive
	case len(variables) == 0:
		if last == "Err" || last == "Error" {
			return Dropped
		}
		return Attentive
	}
	seen := Unread
	for _, v := range variables {
		switch at := readOf(pass, top, v); at {
		case Attentive:
			return Attentive
		case OnlyValid:
			seen = OnlyValid
		}
	}
	return seen
}

// chain climbs from a call to the last one that is made on its result, as in QueryRow(…).Scan(…), and names what is
// asked of that in the end.
func chain(cur inspector.Cursor) (top inspector.Cursor, last string) {
	top = cur
	for top.ParentEdgeKind() == edge.SelectorExpr_X {
		sel := top.Parent()
		last = sel.Node().(*ast.SelectorExpr).Sel.Name
		if sel.ParentEdgeKind() != edge.CallExpr_Fun {
			return top, last
		}
		top = sel.Parent()
	}
	return top, last
}

// destinations are the local variables whose addresses are given to the calls of a chain. Not known if the answer may
// go elsewhere.
func destinations(pass *analysis.Pass, top, first inspector.Cursor) (list []*types.Var, known bool) {
	for cur := range top.Preorder((*ast.UnaryExpr)(nil)) {
		x := cur.Node().(*ast.UnaryExpr)
		if x.Op != token.AND {
			continue
		}
		name, ok := ast.Unparen(x.X).(*ast.Ident)
		if !ok {
			return nil, false
		}
		v, ok := pass.TypesInfo.Uses[name].(*types.Var)
		if !ok || v.Parent() == nil || v.Parent() == pass.Pkg.Scope() {
			return nil, false
		}
		list = append(list, v)
	}
	if len(list) == 0 && top == first {
		return nil, false // rows or a row in a variable
	}
	return list, true
}

// readOf says what is done with a variable other than to fill it.
func readOf(pass *analysis.Pass, top inspector.Cursor, v *types.Var) Attention {
	fn, ok := around(top)
	if !ok || isResult(pass, fn, v) {
		return Attentive
	}
	seen := Unread
	for cur := range fn.Preorder((*ast.Ident)(nil)) {
		if pass.TypesInfo.Uses[cur.Node().(*ast.Ident)] != v || writes(cur) {
			continue
		}
		if sel, ok := cur.Parent().Node().(*ast.SelectorExpr); ok && sel.Sel.Name == "Valid" {
			seen = OnlyValid
			continue
		}
		return Attentive
	}
	return seen
}

// around is the declared function that a node stands in.
func around(cur inspector.Cursor) (inspector.Cursor, bool) {
	for c := range cur.Enclosing((*ast.FuncDecl)(nil)) {
		return c, true
	}
	return cur, false
}

// isResult reports whether a variable is a named result of a function or of a literal in it.
func isResult(pass *analysis.Pass, fn inspector.Cursor, v *types.Var) bool {
	for cur := range fn.Preorder((*ast.FuncType)(nil)) {
		results := cur.Node().(*ast.FuncType).Results
		if results != nil && slices.ContainsFunc(results.List, func(f *ast.Field) bool {
			return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return pass.TypesInfo.Defs[n] == v })
		}) {
			return true
		}
	}
	return false
}

// writes reports whether an identifier is mentioned to be filled, or to be ignored in so many words.
func writes(cur inspector.Cursor) bool {
	switch cur.ParentEdgeKind() {
	case edge.AssignStmt_Lhs:
		return true
	case edge.AssignStmt_Rhs:
		left, ok := cur.Parent().Node().(*ast.AssignStmt).Lhs[0].(*ast.Ident)
		return ok && left.Name == "_"
	case edge.UnaryExpr_X:
		return cur.Parent().Node().(*ast.UnaryExpr).Op == token.AND
	}
	return false
}
