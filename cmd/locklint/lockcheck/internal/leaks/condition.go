package leaks

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// condition names what must hold for a leak to happen: the test around the exit, or else the branch behind which there
// is no release any more. "" if it cannot be said briefly.
func condition(r *check.Reporter, l leases.Leak, flow *leases.Flow) (text string, inside bool) {
	if l.Exit.Pos().IsValid() {
		if text := guard(r, l.Exit.Pos(), flow.Site.Call.Pos()); text != "" {
			return text, true
		}
	}
	ends := releaseBlocks(flow)
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
		holds := from.Succs[0] == v.Block
		other := from.Succs[0]
		if holds {
			other = from.Succs[1]
		}
		acquire := flow.Site.Call.Block()
		if leadsTo(other, ends, acquire) && !leadsTo(v.Block, ends, acquire) {
			if text := branch(r, cond.Cond, holds); text != "" {
				return text, false
			}
			return passedBy(r, flow, l.Exit.Pos()), false
		}
	}
	return "", false
}

// releaseBlocks are the blocks of a function that release the lease, or defer that.
func releaseBlocks(flow *leases.Flow) map[*ssa.BasicBlock]bool {
	ends := map[*ssa.BasicBlock]bool{}
	for call := range flow.Releases {
		if d := ssax.DeferOf(call, flow.Fn); d != nil {
			ends[d.Block()] = true
		} else if call.Parent() == flow.Fn {
			ends[call.Block()] = true
		}
	}
	return ends
}

// leadsTo reports whether a block is one of some blocks, or one of them can run after it, before the next acquire.
func leadsTo(from *ssa.BasicBlock, blocks map[*ssa.BasicBlock]bool, acquire *ssa.BasicBlock) bool {
	seen := map[*ssa.BasicBlock]bool{}
	ssax.Reach(from, acquire, seen)
	for b := range blocks {
		if seen[b] {
			return true
		}
	}
	return false
}

// passedBy is the condition of the only if around the only release that the exit and the acquire do not share: the one
// to name where the branch has no place in the source, as that of a variable has none.
func passedBy(r *check.Reporter, flow *leases.Flow, exit token.Pos) string {
	if len(flow.Releases) != 1 {
		return ""
	}
	var inner ast.Node
	text, found := "", 0
	for call := range flow.Releases {
		for n := range r.AroundPos(call.Common().Pos()) {
			test, ok := n.(*ast.IfStmt)
			if ok && !encloses(test, exit) && !encloses(test, flow.Site.Call.Pos()) {
				found++
				text = quote(r, test.Cond, inner == ast.Node(test.Else))
			}
			if _, ok := n.(*ast.FuncLit); ok {
				return ""
			}
			inner = n
		}
	}
	if found != 1 {
		return ""
	}
	return text
}

func encloses(n ast.Node, pos token.Pos) bool { return n.Pos() <= pos && pos < n.End() }

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

// branch is the source of the condition that an SSA value came from, of a whole && or || where it is a part of one.
func branch(r *check.Reporter, cond ssa.Value, holds bool) string {
	var inner ast.Expr
	for n := range r.AroundPos(cond.Pos()) {
		switch n := n.(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			switch {
			case n.OpPos == cond.Pos():
				inner = n
			case inner == nil || n.Op != token.LAND && n.Op != token.LOR:
			case holds == (n.Op == token.LOR):
				inner = n // the side that decides about the whole
			case ast.Unparen(n.Y) == inner:
				inner = n // the last side, which the others leave it to
			default:
				return ""
			}
		case *ast.UnaryExpr:
			if inner != nil {
				return ""
			}
		case *ast.CallExpr:
			if n.Lparen == cond.Pos() {
				inner = n
			}
		case *ast.Ident:
			inner = n
		case ast.Stmt:
			if inner == nil {
				return ""
			}
			return quote(r, inner, holds)
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
