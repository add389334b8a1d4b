package fixes

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

// This file makes the fix that moves a statement across the error check of an acquire, or the check across statements. It
// is safe for the plain form only, three statements of one block:
//
//	lease, err := locks.Acquire(ctx, …)
//	defer lease.Release(ctx)             // or another use of the lease
//	if err != nil {
//		return err
//	}

// An AcquireBlock is that form.
type AcquireBlock struct {
	List          []ast.Stmt
	Assign, Check int // indexes in list
	lease         types.Object
}

// BlockOf finds the acquire and its error check, nil if they do not have the plain form. Where a flag, too, says whether
// there is a lease, what stands behind the error check may still be without one.
func BlockOf(r *check.Reporter, site *leases.Site) *AcquireBlock {
	call := r.Index.CallExpr(site.Call)
	if call == nil || site.OK >= 0 {
		return nil
	}
	list, at := ListAround(r, call)
	if list == nil {
		return nil
	}
	assign, ok := list[at].(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 || assign.Rhs[0] != ast.Expr(call) {
		return nil
	}
	index := site.Err
	if site.Recv != nil && site.Err < 0 {
		index = 0
	}
	if index < 0 || index >= len(assign.Lhs) {
		return nil
	}
	err, ok := assign.Lhs[index].(*ast.Ident)
	if !ok || err.Name == "_" {
		return nil
	}
	for i := at + 1; i < len(list); i++ {
		if TestsError(list[i], err.Name) {
			return &AcquireBlock{list, at, i, variableIn(r, assign, site.Lease)}
		}
		if mentions(r, list[i], r.Pass.TypesInfo.ObjectOf(err)) {
			return nil
		}
	}
	return nil
}

// variableIn is the variable that the i-th value of an assignment goes to, nil if it is none.
func variableIn(r *check.Reporter, assign *ast.AssignStmt, i int) types.Object {
	if i < 0 || i >= len(assign.Lhs) {
		return nil
	}
	id, ok := assign.Lhs[i].(*ast.Ident)
	if !ok {
		return nil
	}
	return r.Pass.TypesInfo.ObjectOf(id)
}

// mentions reports whether a statement uses a variable.
func mentions(r *check.Reporter, s ast.Stmt, v types.Object) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && r.Pass.TypesInfo.ObjectOf(id) == v
		return !found
	})
	return found
}

// Holds reports which statement of the block, between the acquire and the check, a call stands in: -1 if none does.
func (b *AcquireBlock) Holds(call ssa.CallInstruction) int {
	for i := b.Assign + 1; i < b.Check; i++ {
		if b.List[i].Pos() <= call.Common().Pos() && call.Common().Pos() < b.List[i].End() {
			return i
		}
	}
	return -1
}

// ReleaseBehind moves the defer of a release behind the check that follows it. Nil if anything else lies between the two:
// another defer would run in another order, and on the way through a return or a panic nothing would be released. Nil, too,
// if the statement does more than release, which has to be done without the lease as well.
func (b *AcquireBlock) ReleaseBehind(r *check.Reporter, stmt, release ssa.CallInstruction) *analysis.SuggestedFix {
	at, call := b.Holds(stmt), r.Index.CallExpr(release)
	if at < 0 || at != b.Check-1 || call == nil || !onlyReleases(r, b.List[at], call) {
		return nil
	}
	return move(r, "release behind the error check", b.List[at], b.List[b.Check])
}

// CheckFirst moves the check before a use of the lease. Nil if something lies between the acquire and the check that is no
// use of the lease: it would not be done any more when there is none.
func (b *AcquireBlock) CheckFirst(r *check.Reporter, use ssa.CallInstruction) *analysis.SuggestedFix {
	if b.Holds(use) < 0 || b.lease == nil {
		return nil
	}
	for _, s := range b.List[b.Assign+1 : b.Check] {
		if !b.onlyUses(r, s) {
			return nil
		}
	}
	return move(r, "check the error first", b.List[b.Check], b.List[b.Assign])
}

// onlyUses reports whether a statement is a use of the lease and nothing else.
func (b *AcquireBlock) onlyUses(r *check.Reporter, s ast.Stmt) bool {
	if !mentions(r, s, b.lease) {
		return false
	}
	switch s := s.(type) {
	case *ast.ExprStmt:
		return true
	case *ast.AssignStmt: // what is declared may have the name of what the check uses
		return s.Tok != token.DEFINE
	case *ast.DeferStmt:
		return callsOnly(r, s.Call, b.lease) && Pure(r, s.Call.Args)
	}
	return false
}

// callsOnly reports whether a call is that of a method of a variable.
func callsOnly(r *check.Reporter, call *ast.CallExpr, v types.Object) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && r.Pass.TypesInfo.ObjectOf(id) == v
}

// onlyReleases reports whether a statement defers a release, itself or in a literal, and does nothing else.
func onlyReleases(r *check.Reporter, s ast.Stmt, release *ast.CallExpr) bool {
	d, ok := s.(*ast.DeferStmt)
	if !ok || !Pure(r, d.Call.Args) {
		return false
	}
	lit, ok := d.Call.Fun.(*ast.FuncLit)
	if !ok {
		return d.Call == release && Pure(r, []ast.Expr{d.Call.Fun})
	}
	return len(lit.Body.List) == 1 && isRelease(lit.Body.List[0], release)
}

// isRelease reports whether a statement is a release, or keeps or looks at what it returns.
func isRelease(s ast.Stmt, release *ast.CallExpr) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return s.X == ast.Expr(release)
	case *ast.AssignStmt:
		if len(s.Rhs) != 1 {
			return false
		}
		outer, ok := s.Rhs[0].(*ast.CallExpr) // err = errors.Join(err, lease.Release(ctx))
		return ok && (outer == release || slices.Contains(outer.Args, ast.Expr(release)))
	case *ast.IfStmt:
		return s.Init != nil && s.Else == nil && isRelease(s.Init, release)
	}
	return false
}

// Pure reports whether expressions call nothing but package context and conversions, so that nobody misses it where they
// are not evaluated.
func Pure(r *check.Reporter, list []ast.Expr) bool {
	ok := true
	for _, x := range list {
		ast.Inspect(x, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.UnaryExpr:
				ok = ok && n.Op != token.ARROW
			case *ast.CallExpr:
				fn := typeutil.StaticCallee(r.Pass.TypesInfo, n)
				ok = ok && (r.Pass.TypesInfo.Types[n.Fun].IsType() ||
					fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "context")
			}
			return ok
		})
	}
	return ok
}

// move takes one statement of a block out, with its comments, and puts it behind an earlier or later one. Nil if one of
// them shares its lines with others.
func move(r *check.Reporter, message string, what, behind ast.Stmt) *analysis.SuggestedFix {
	from := linesOf(r, what)
	if from == nil || linesOf(r, behind) == nil {
		return nil
	}
	end, moved := Behind(r, behind), "\n"+strings.TrimRight(from.text, "\r\n")
	return &analysis.SuggestedFix{Message: message, TextEdits: []analysis.TextEdit{
		{Pos: from.pos, End: from.end},
		{Pos: end, End: end, NewText: []byte(moved)},
	}}
}
