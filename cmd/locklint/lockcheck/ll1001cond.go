package lockcheck

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
)

// maxCondition is the length of the conditions that messages quote.
const maxCondition = 60

// condition names what must hold for a leak to happen: the test around the exit, or else the last branch on the way
// out that could have gone the other way. "" if it cannot be said briefly.
func (r *reporter) condition(l leak, flow *siteFlow) (text string, inside bool) {
	if l.exit.Pos().IsValid() {
		if text := r.guard(l.exit.Pos(), flow.site.call.Pos()); text != "" {
			return text, true
		}
	}
	for v := l.trail; v != nil && v.from != nil; v = v.from {
		from := v.from.block
		cond, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok {
			continue
		}
		if v.from.state.lease == absent && from != flow.site.call.Block() {
			return "", false // before the acquire
		}
		if asksAcquire(cond.Cond, flow.site) {
			continue // that the acquire succeeded goes without saying
		}
		if text := r.branch(cond.Cond, from.Succs[0] == v.block); text != "" {
			return text, false
		}
	}
	return "", false
}

// asksAcquire reports whether a condition compares a result of the acquire.
func asksAcquire(cond ssa.Value, site *leaseSite) bool {
	instr, ok := cond.(ssa.Instruction)
	if !ok {
		return false
	}
	for _, op := range instr.Operands(nil) {
		if ex, ok := (*op).(*ssa.Extract); ok && ex.Tuple == ssa.Value(site.call) || *op == ssa.Value(site.call) {
			return true
		}
	}
	return false
}

// guard is the condition of the innermost if around a position that does not also enclose the acquire, or what a select
// has received there.
func (r *reporter) guard(pos, acquire token.Pos) string {
	var inner ast.Node
	for _, n := range r.pathAt(pos) {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return ""
		case *ast.IfStmt:
			if n.Pos() <= acquire && acquire < n.End() {
				return ""
			}
			switch inner {
			case ast.Node(n.Body):
				return r.quote(n.Cond, true)
			case ast.Node(n.Else):
				return r.quote(n.Cond, false)
			}
		case *ast.CommClause:
			if n.Pos() <= acquire && acquire < n.End() {
				return ""
			}
			if recv, ok := n.Comm.(*ast.ExprStmt); ok {
				return r.quote(recv.X, true)
			}
		}
		inner = n
	}
	return ""
}

// branch is the source of the condition that an SSA value came from.
func (r *reporter) branch(cond ssa.Value, holds bool) string {
	for _, n := range r.pathAt(cond.Pos()) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.OpPos == cond.Pos() {
				return r.quote(n, holds)
			}
		case *ast.CallExpr:
			if n.Lparen == cond.Pos() {
				return r.quote(n, holds)
			}
		case ast.Stmt:
			return ""
		}
	}
	return ""
}

// quote is the text of a condition, or of its opposite.
func (r *reporter) quote(x ast.Expr, holds bool) string {
	if not, ok := x.(*ast.UnaryExpr); ok && not.Op == token.NOT && !holds {
		return r.quote(not.X, true)
	}
	if b, ok := x.(*ast.BinaryExpr); ok && !holds {
		opposite, ok := opposites[b.Op]
		if ok {
			x, holds = &ast.BinaryExpr{X: b.X, Op: opposite, Y: b.Y}, true
		}
	}
	text := string(r.source(x))
	if text == "" || len(text) > maxCondition {
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

// pathAt returns the nodes around a position, innermost first.
func (r *reporter) pathAt(pos token.Pos) []ast.Node {
	for _, f := range r.pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			path, _ := astutil.PathEnclosingInterval(f, pos, pos)
			return path
		}
	}
	return nil
}
