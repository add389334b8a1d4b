package leaks

import (
	"go/ast"
	"go/types"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A use of a lease may go on when the function has returned, though nobody gets the lease itself: a goroutine works
// with its context, or a literal that is returned asks it something. Released by then, the lease has ended that context.
type outliving struct {
	info  *types.Info
	names map[string]bool // the lease, and the contexts that come from it
	found bool
}

// outlives reports whether some statements leave such a use of the lease behind.
func outlives(info *types.Info, list []ast.Stmt, lease string) bool {
	o := &outliving{info: info, names: map[string]bool{lease: true}}
	for _, s := range list {
		ast.Inspect(s, o.visit)
	}
	return o.found
}

func (o *outliving) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		o.found = o.found || o.mentions(n)
	case *ast.ReturnStmt:
		o.keeps(n.Results...)
	case *ast.SendStmt:
		o.keeps(n.Value)
	case *ast.AssignStmt:
		for _, x := range n.Lhs {
			id, ok := x.(*ast.Ident)
			if !ok {
				o.keeps(n.Rhs...)
			} else if t := o.info.TypeOf(id); t != nil && ssax.IsContext(t) {
				for _, y := range n.Rhs {
					o.names[id.Name] = o.names[id.Name] || o.mentions(y)
				}
			}
		}
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "AfterFunc" {
			o.keeps(n.Args...)
		}
	}
	return !o.found
}

// keeps looks for a use in the parts of values that go elsewhere. What a call returns is one only if it is a context.
func (o *outliving) keeps(values ...ast.Expr) {
	for _, x := range values {
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				t := o.info.TypeOf(n)
				if results, ok := t.(*types.Tuple); ok && results.Len() > 0 {
					t = results.At(0).Type() // context.WithCancel
				}
				return t != nil && ssax.IsContext(t)
			case *ast.FuncLit:
				o.found = o.found || o.mentions(n)
			case *ast.Ident:
				o.found = o.found || o.names[n.Name]
			}
			return !o.found
		})
	}
}

func (o *outliving) mentions(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && o.names[id.Name]
		return !found
	})
	return found
}
