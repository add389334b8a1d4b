package fixes

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

// This file makes the fix that moves a statement across the error check of an acquire. It is safe for the plain form
// only, three statements of one block:
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
	err           string
}

// BlockOf finds the acquire and its error check, nil if they do not have the plain form.
func BlockOf(r *check.Reporter, site *leases.Site) *AcquireBlock {
	call := r.Index.CallExpr(site.Call)
	if call == nil {
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
			return &AcquireBlock{list, at, i, err.Name}
		}
		if mentions(list[i], err.Name) || declares(list[i]) {
			return nil
		}
	}
	return nil
}

// mentions reports whether a statement uses a name.
func mentions(s ast.Stmt, name string) bool {
	found := false
	ast.Inspect(s, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// declares reports whether a statement declares something, or labels or leaves: moving another one across it could
// change what that one means.
func declares(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.DeclStmt, *ast.LabeledStmt, *ast.BranchStmt, *ast.ReturnStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok == token.DEFINE
	}
	return false
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

// Move takes one statement of a block out and puts it behind an earlier or later one.
func Move(r *check.Reporter, message string, what, behind ast.Stmt) *analysis.SuggestedFix {
	file := r.Pass.Fset.File(what.Pos())
	text, err := r.Pass.ReadFile(file.Name())
	from, to := file.Offset(what.Pos()), file.Offset(what.End())
	if err != nil || to > len(text) {
		return nil
	}
	moved := "\n" + IndentOf(r, what) + string(text[from:to])
	return &analysis.SuggestedFix{Message: message, TextEdits: []analysis.TextEdit{
		DeleteLine(r, what),
		{Pos: behind.End(), End: behind.End(), NewText: []byte(moved)},
	}}
}
