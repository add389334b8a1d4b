package fixes

import (
	"bytes"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

// This file finds the lines of statements, and the comments that belong to them.

// A lines is the lines that a statement stands on: with a comment behind it, and with one that ends on the line above.
type lines struct {
	pos, end token.Pos // of the first byte, and behind the line end of the last line
	text     string
}

// linesOf are the lines of a statement, nil if something else stands there, too, or the text is not at hand.
func linesOf(r *check.Reporter, s ast.Stmt) *lines {
	file := r.Pass.Fset.File(s.Pos())
	text, err := r.Pass.ReadFile(file.Name())
	if err != nil || len(text) != file.Size() {
		return nil
	}
	start, end := file.Offset(s.Pos()), file.Offset(s.End())
	above, behind := commentsOf(r, s)
	if above != nil {
		start = file.Offset(above.Pos())
	}
	if behind != nil {
		end = file.Offset(behind.End())
	}
	first := bytes.LastIndexByte(text[:start], '\n') + 1
	last := len(text)
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		last = end + i + 1
	}
	if len(bytes.TrimSpace(text[first:start])) > 0 || len(bytes.TrimSpace(text[end:last])) > 0 {
		return nil
	}
	return &lines{file.Pos(first), file.Pos(last), string(text[first:last])}
}

// commentsOf are the comments of a statement: the one that ends on the line above, and the one that begins on its last
// line behind it. Nil for none. One above that begins behind another statement belongs to that.
func commentsOf(r *check.Reporter, s ast.Stmt) (above, behind *ast.CommentGroup) {
	file := r.Pass.Fset.File(s.Pos())
	for n := range r.Around(s) {
		syntax, ok := n.(*ast.File)
		if !ok {
			continue
		}
		for _, c := range syntax.Comments {
			switch {
			case c.End() <= s.Pos() && file.Line(c.End()) == file.Line(s.Pos())-1 && begins(r, c):
				above = c
			case c.Pos() >= s.End() && file.Line(c.Pos()) == file.Line(s.End()):
				behind = c
			}
		}
	}
	return above, behind
}

// begins reports whether a comment is the first thing on its line.
func begins(r *check.Reporter, c *ast.CommentGroup) bool {
	file := r.Pass.Fset.File(c.Pos())
	text, err := r.Pass.ReadFile(file.Name())
	at := file.Offset(c.Pos())
	if err != nil || at > len(text) {
		return false
	}
	return len(bytes.TrimSpace(text[bytes.LastIndexByte(text[:at], '\n')+1:at])) == 0
}

// Behind is where a line that follows a statement is put in: behind the comment on its last line, if there is one.
func Behind(r *check.Reporter, s ast.Stmt) token.Pos {
	if l := linesOf(r, s); l != nil {
		return l.pos + token.Pos(len(strings.TrimRight(l.text, "\r\n")))
	}
	return s.End()
}

// Delete removes a statement with its lines. Not ok if something else stands there, be it a comment: it says what nobody
// but its author can put elsewhere.
func Delete(r *check.Reporter, s ast.Stmt) (edit analysis.TextEdit, ok bool) {
	l := linesOf(r, s)
	if l == nil || hasComment(r, s) {
		return edit, false
	}
	return analysis.TextEdit{Pos: l.pos, End: l.end}, true
}

// hasComment reports whether a comment belongs to a statement, or stands inside it.
func hasComment(r *check.Reporter, s ast.Stmt) bool {
	if above, behind := commentsOf(r, s); above != nil || behind != nil {
		return true
	}
	for n := range r.Around(s) {
		if syntax, ok := n.(*ast.File); ok {
			return slices.ContainsFunc(syntax.Comments, func(c *ast.CommentGroup) bool {
				return s.Pos() <= c.Pos() && c.End() <= s.End()
			})
		}
	}
	return false
}
