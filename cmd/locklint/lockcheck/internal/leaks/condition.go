package leaks

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
)

// condition names what must hold for a leak to happen: the test around the exit, or else the last branch on the way
// out that could have gone the other way. "" if it cannot be said briefly.
func condition(r *check.Reporter, l leases.Leak, flow *leases.Flow) (text string, inside bool) {
	if l.Exit.Pos().IsValid() {
		if text := guard(r, l.Exit.Pos(), flow.Site.Call.Pos()); text != "" {
			return text, true
		}
	}
	for v := l.Trail; v != nil && v.From != nil; v = v.From {
		from := v.From.Block
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if v.From.State.Lease == leases.Absent && from != flow.Site.Call.Block() {
			return "", false // before the acquire
		}
		if asksAcquire(cond.Cond, flow.Site) {
			continue // that the acquire succeeded goes without saying
		}
		if text := branch(r, cond.Cond, from.Succs[0] == v.Block); text != "" {
			return text, false
		}
	}
	return "", false
}

// asksAcquire reports whether a condition compares a result of the acquire.
func asksAcquire(cond ssa.Value, site *leases.Site) bool {
	instr, ok := cond.(ssa.Instruction)
	if !ok {
		return false
	}
	for _, op := range instr.Operands(nil) {
		if ex, ok := (*op).(*ssa.Extract); ok && ex.Tuple == ssa.Value(site.Call) || *op == ssa.Value(site.Call) {
			return true
		}
	}
	return false
}

// guard is the condition of the innermost if around a position that does not also enclose the acquire, or what a select
// has received there.
func guard(r *check.Reporter, pos, acquire token.Pos) string {
	var inner ast.Node
	for n := range r.AroundPos(pos) {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return ""
		case *ast.IfStmt:
			if n.Pos() <= acquire && acquire < n.End() {
				return ""
			}
			switch inner {
			case ast.Node(n.Body):
				return quote(r, n.Cond, true)
			case ast.Node(n.Else):
				return quote(r, n.Cond, false)
			}
		case *ast.CommClause:
			if n.Pos() <= acquire && acquire < n.End() {
				return ""
			}
			if recv, ok := n.Comm.(*ast.ExprStmt); ok {
				return quote(r, recv.X, true)
			}
		}
		inner = n
	}
	return ""
}

// branch is the source of the condition that an SSA value came from.
func branch(r *check.Reporter, cond ssa.Value, holds bool) string {
	for n := range r.AroundPos(cond.Pos()) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.OpPos == cond.Pos() {
				return quote(r, n, holds)
			}
		case *ast.CallExpr:
			if n.Lparen == cond.Pos() {
				return quote(r, n, holds)
			}
		case ast.Stmt:
			return ""
		}
	}
	return ""
}

// quote is the text of a condition, or of its opposite.
func quote(r *check.Reporter, x ast.Expr, holds bool) string {
	if not, ok := x.(*ast.UnaryExpr); ok && not.Op == token.NOT && !holds {
		return quote(r, not.X, true)
	}
	if b, ok := x.(*ast.BinaryExpr); ok && !holds {
		opposite, ok := opposites[b.Op]
		if ok {
			x, holds = &ast.BinaryExpr{X: b.X, Op: opposite, Y: b.Y}, true
		}
	}
	text := string(r.Source(x))
	if text == "" || len(text) > check.MaxCondition {
		return ""
	}
	if holds {
		return text
	}
	if _, simple := x.(*ast.BinaryExpr); simple {
		return "!(" + text + ")"
	}
	return "!" + text
}

var opposites = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS,
	token.GTR: token.LEQ, token.LEQ: token.GTR,
}
