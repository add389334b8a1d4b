package directive

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
)

// RuntimePath is the import path of the package that generated code calls, known to its users as lockrt.
const RuntimePath = "github.com/lockgen/lockgen/runtime"

// A Problem is one thing wrong with a directive.
type Problem struct {
	Pos, End token.Pos // the offending text, inside the directive
	Slug     string    // stable name of the kind of problem, such as "ttl-missing"; see Slugs
	Message  string    // what is wrong, on what, why, and what to do; one line, no trailing period
	Fix      *Fix      // what to write instead, nil if that is not known
}

// A Fix replaces the text between Pos and End with Text. It repairs spelling; it never decides what is to be locked.
type Fix struct {
	Pos, End token.Pos
	Text     string
	Message  string // such as `write "wait"`
}

// problems collects the problems of one step.
type problems []Problem

// add reports a problem and returns it for a fix to be attached, valid until the next call.
func (ps *problems) add(pos, end token.Pos, slug, format string, args ...any) *Problem {
	*ps = append(*ps, Problem{Pos: pos, End: end, Slug: slug, Message: fmt.Sprintf(format, args...)})
	return &(*ps)[len(*ps)-1]
}

// write attaches a fix that puts text in place of what is reported.
func (p *Problem) write(text string) {
	p.replace(p.Pos, p.End, text)
}

func (p *Problem) replace(pos, end token.Pos, text string) {
	p.Fix = &Fix{Pos: pos, End: end, Text: text, Message: fmt.Sprintf("write %q", text)}
	if text == "" {
		p.Fix.Message = "delete it"
	}
}

// sorted orders problems by position and keeps one of each kind per place: two steps may trip over the same brace, and
// the first to do so knows most about it.
func (ps problems) sorted() []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Slug, b.Slug))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.Slug == b.Slug
	})
}
