package check

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"iter"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// functionAt names the function or method that a position stands in.
func (r *Reporter) functionAt(pos token.Pos) string {
	for _, file := range r.Pass.Files {
		if pos < file.FileStart || pos > file.FileEnd {
			continue
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			start := decl.Pos()
			if ok && fn.Doc != nil {
				start = fn.Doc.Pos()
			}
			if !ok || pos < start || pos > fn.End() {
				continue
			}
			if fn.Recv != nil && len(fn.Recv.List) == 1 {
				return directive.ReceiverBase(fn.Recv.List[0].Type) + "." + fn.Name.Name
			}
			return fn.Name.Name
		}
	}
	return ""
}

// Span is the source range of a command's call.
func (r *Reporter) Span(c *rediscmd.Command) (pos, end token.Pos) {
	if call := r.Index.CallExpr(c.Call); call != nil {
		return call.Pos(), call.End()
	}
	return c.Pos(), c.Pos()
}

// Place names a position from the point of view of another: the line, with the file where that differs.
func (r *Reporter) Place(pos, from token.Pos) string {
	at, origin := r.Pass.Fset.Position(pos), r.Pass.Fset.Position(from)
	if at.Filename == origin.Filename {
		return fmt.Sprintf("line %d", at.Line)
	}
	return fmt.Sprintf("%s:%d", at.Filename[strings.LastIndexAny(at.Filename, `/\`)+1:], at.Line)
}

// MaxCondition is the length of the conditions that messages quote.
const MaxCondition = 60

// AroundPos are the nodes around a position, innermost first.
func (r *Reporter) AroundPos(pos token.Pos) iter.Seq[ast.Node] {
	cur, ok := r.Index.Syntax().FindByPos(pos, pos)
	return enclosing(cur, ok)
}

// Around are a node and the nodes around it, innermost first.
func (r *Reporter) Around(n ast.Node) iter.Seq[ast.Node] {
	cur, ok := r.Index.Syntax().FindNode(n)
	return enclosing(cur, ok)
}

func enclosing(cur inspector.Cursor, ok bool) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		if !ok {
			return
		}
		for c := range cur.Enclosing() {
			if !yield(c.Node()) {
				return
			}
		}
	}
}

// Source is the text of an expression.
func (r *Reporter) Source(x ast.Expr) []byte {
	var b bytes.Buffer
	if err := format.Node(&b, r.Pass.Fset, x); err != nil {
		return nil
	}
	return b.Bytes()
}

// CallText is what a call calls, as it stands in the source.
func (r *Reporter) CallText(call ssa.CallInstruction) string {
	if x := r.Index.CallExpr(call); x != nil {
		if text := string(r.Source(x.Fun)); text != "" && len(text) <= MaxCondition && !strings.Contains(text, "\n") {
			return text
		}
	}
	if fn := call.Common().StaticCallee(); fn != nil {
		return ssax.CalleeShort(fn)
	}
	return "a call"
}

// CallSpan is the source range of a call.
func (r *Reporter) CallSpan(call ssa.CallInstruction) (pos, end token.Pos) {
	if x := r.Index.CallExpr(call); x != nil {
		return x.Pos(), x.End()
	}
	return call.Common().Pos(), call.Common().Pos()
}

// ByHand is where people can do something about a call: inner, by which it takes a lock, if the call stands in generated
// code and inner is known, else the call.
func (r *Reporter) ByHand(call, inner ssa.CallInstruction) ssa.CallInstruction {
	if inner != nil && r.Ignores.Generated[r.Pass.Fset.Position(call.Common().Pos()).Filename] {
		return inner
	}
	return call
}
