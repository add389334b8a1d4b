// Package sqlcalls finds the statements that a package sends to a database, and what they do to locks there.
//
// It reads syntax and types alone: SSA form would have to be built for every package that talks to a database, and the
// text of a statement mostly stands where it is used.
package sqlcalls

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// A Call is a call that sends a statement whose text, or the beginning of it, is known.
type Call struct {
	Expr *ast.CallExpr
	At   inspector.Cursor // of Expr
	Name string           // of the method
	Text string           // of the statement; what is not constant in it is a question mark
	On   Holder
	Recv types.Type // that the method belongs to
}

// Session reports whether the statement takes a lock that belongs to the session.
func (c *Call) Session() bool { return sessionLock.MatchString(c.Text) && !c.Unlocks() }

// Tries reports whether the statement says whether it has got a lock: true or false, 1, 0 or NULL.
func (c *Call) Tries() bool { return tryLock.MatchString(c.Text) }

// Unlocks reports whether the statement ends a lock of the session.
func (c *Call) Unlocks() bool { return unlock.MatchString(c.Text) }

// Rows reports whether the statement takes a lock that ends with its transaction, and does nothing else: the lock is
// meant for a later statement.
func (c *Call) Rows() bool {
	text := strings.TrimRight(c.Text, "; \t\r\n")
	if strings.Contains(text, ";") {
		return false
	}
	return transactionLock.MatchString(text) || selects.MatchString(text) && rowLock.MatchString(outermost(text))
}

// Statement is the text on one line, short enough for a message.
func (c *Call) Statement() string {
	text := strings.Join(strings.Fields(c.Text), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " …"
	}
	return text
}

// maxText is the length of the statements that messages quote.
const maxText = 60

// InTest reports whether the call stands in a test.
func (c *Call) InTest(pass *analysis.Pass) bool {
	return strings.HasSuffix(pass.Fset.Position(c.Expr.Pos()).Filename, "_test.go")
}

// Find finds the statements of a package in source order. Nil, at no cost, if the package imports no client of a
// database.
func Find(pass *analysis.Pass) []*Call {
	if !slices.ContainsFunc(pass.Pkg.Imports(), isClient) {
		return nil
	}
	f := &finder{pass: pass, root: inspector.New(pass.Files).Root(), assigned: map[*types.Var]ast.Expr{}}
	f.findAssignments()
	var list []*Call
	for cur := range f.root.Preorder((*ast.CallExpr)(nil)) {
		if c := f.call(cur); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// isClient reports whether a package hands out pools, connections or transactions.
func isClient(pkg *types.Package) bool {
	path := clients.WithoutVendor(pkg.Path())
	for t := range holders {
		if strings.HasPrefix(t, path+".") {
			return true
		}
	}
	return false
}

// A finder looks at one package.
type finder struct {
	pass     *analysis.Pass
	root     inspector.Cursor
	assigned map[*types.Var]ast.Expr // variables and the only value that they are given; nil for several
}

// call recognises a call that sends a statement: a method of a client's type that is given a text.
func (f *finder) call(cur inspector.Cursor) *Call {
	x := cur.Node().(*ast.CallExpr)
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	fn, ok := f.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return nil
	}
	c := &Call{Expr: x, At: cur, Name: fn.Name(), Recv: fn.Signature().Recv().Type()}
	if c.On = f.holderOf(sel.X, c.Recv); c.On == Nothing {
		return nil
	}
	if fn.Name() == "Clauses" && f.locksRows(x.Args) {
		c.Text = "SELECT … FOR UPDATE"
		return c
	}
	for _, arg := range x.Args[:min(len(x.Args), maxArgs)] {
		if text, ok := f.text(arg, 0); ok {
			c.Text = text
			return c
		}
	}
	return nil
}

// maxArgs are the arguments among which the statement is: a context and a destination may come first.
const maxArgs = 3

// locksRows reports whether some arguments of gorm's Clauses are clause.Locking{Strength: "UPDATE"}.
func (f *finder) locksRows(args []ast.Expr) bool {
	return slices.ContainsFunc(args, func(x ast.Expr) bool {
		lit, ok := ast.Unparen(x).(*ast.CompositeLit)
		return ok && typeName(f.pass.TypesInfo.TypeOf(lit)) == "gorm.io/gorm/clause.Locking"
	})
}
