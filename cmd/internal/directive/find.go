package directive

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode"
)

// A Found is what Find reads from one file.
type Found struct {
	Funcs    []*Annotated // functions with a directive, in source order, also those with problems
	Defaults []*Defaults  // //lock:default lines in the package's doc comment; there should be at most one in a package
	Fenced   []*Mark      // //lock:fenced marks, in source order
	Problems []Problem    // of the file: look-alikes and misplaced directives; those of Funcs are with each of them
}

// An Annotated is a function with a //lock: directive in its doc comment.
type Annotated struct {
	Decl      *ast.FuncDecl
	Directive *Directive
	Problems  []Problem
}

// A Mark is a //lock:fenced line: what it stands on writes to a resource that fencing tokens protect.
type Mark struct {
	Pos, End token.Pos
	Node     ast.Node // *ast.FuncDecl, *ast.Field, *ast.TypeSpec, *ast.ValueSpec or *ast.GenDecl
}

// Find returns the directives of a file that was parsed with its comments, and every comment that looks like a
// directive but is not one.
func Find(file *ast.File) *Found {
	f := &finder{file: file, found: &Found{}}
	for _, group := range file.Comments {
		if mayMention(group) {
			f.group(group)
		}
	}
	f.found.Problems = f.sorted()
	return f.found
}

// mayMention is the cheap test that nearly all comments fail.
func mayMention(group *ast.CommentGroup) bool {
	for _, c := range group.List {
		if strings.Contains(c.Text, "lock") || strings.Contains(c.Text, "Lock") || strings.Contains(c.Text, "LOCK") {
			return true
		}
	}
	return false
}

type finder struct {
	file   *ast.File
	found  *Found
	owners map[*ast.CommentGroup]ast.Node // built when the first comment needs it
	problems
}

// group reads one comment: a run of lines.
func (f *finder) group(group *ast.CommentGroup) {
	fn, inDoc := f.owner(group).(*ast.FuncDecl)
	var lines []Line
	alike := false
	for _, c := range group.List {
		rest, ok := strings.CutPrefix(c.Text, "//lock:")
		switch mark, isMark := isDefault(c.Text); {
		case isMark:
			f.defaults(c, mark, group)
		case strings.TrimRightFunc(c.Text, unicode.IsSpace) == "//lock:fenced":
			f.fenced(c, group)
		case ok && isArgument(rest) || ok && rest == "" && inDoc:
			lines = append(lines, Line{Pos: c.Slash + token.Pos(len("//lock:")), Text: rest})
		default:
			alike = f.lookAlike(c, group, inDoc) || alike
		}
	}
	switch {
	case len(lines) == 0:
	case inDoc:
		d, found := Parse(lines)
		if alike {
			found = withoutMissing(found)
		}
		f.found.Funcs = append(f.found.Funcs, &Annotated{Decl: fn, Directive: d, Problems: found})
	default:
		f.misplaced(group, lines)
	}
}

// isArgument reports whether what follows //lock: makes it a directive: anything but white space, behind which it may
// be prose.
func isArgument(rest string) bool {
	return rest != "" && !unicode.IsSpace([]rune(rest)[0])
}

// withoutMissing drops what a look-alike in the same comment is likely to hold.
func withoutMissing(found []Problem) []Problem {
	var kept []Problem
	for _, p := range found {
		if p.Slug != "key-missing" && p.Slug != "key-first" && p.Slug != "ttl-missing" && p.Slug != "cron-only" {
			kept = append(kept, p)
		}
	}
	return kept
}

// defaults records the defaults of the package, or reports a line that stands where it is none.
func (f *finder) defaults(c *ast.Comment, text string, group *ast.CommentGroup) {
	d, found := ParseDefaults(Line{Pos: c.End() - token.Pos(len(text)), Text: text})
	if _, ok := f.owner(group).(*ast.File); ok {
		f.found.Defaults = append(f.found.Defaults, d)
		f.problems = append(f.problems, found...)
		return
	}
	f.add(c.Pos(), c.End(), "default", "%s stands in no package's doc comment, %s: put it right above a package clause, with "+
		"no blank line between", defaultMark, f.where(group))
}

// fenced records a mark, or reports one that marks nothing.
func (f *finder) fenced(c *ast.Comment, group *ast.CommentGroup) {
	switch node := f.owner(group).(type) {
	case *ast.FuncDecl, *ast.Field, *ast.TypeSpec, *ast.ValueSpec, *ast.GenDecl:
		f.found.Fenced = append(f.found.Fenced, &Mark{Pos: c.Pos(), End: c.End(), Node: node})
	default:
		f.add(c.Pos(), c.End(), "misplaced",
			"//lock:fenced marks nothing here, %s: put it in the doc comment of the function, method, field or variable that "+
				"writes", f.where(group))
	}
}

// misplaced reports a directive that no function has, once for all its lines.
func (f *finder) misplaced(group *ast.CommentGroup, lines []Line) {
	last := lines[len(lines)-1]
	f.add(lines[0].Pos-token.Pos(len("//lock:")), last.Pos+token.Pos(len(last.Text)), "misplaced",
		"this //lock: directive locks nothing, %s: a directive belongs in the doc comment of a function or method, with no "+
			"blank line between", f.where(group))
}
