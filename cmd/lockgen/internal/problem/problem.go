package problem

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
)

// A Problem keeps everything from being written. Line and Column are 0 where it concerns a whole file, File is "" where
// it concerns a pattern.
type Problem struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
	Kind      string `json:"kind"` // stable name, such as ttl-missing
	Message   string `json:"message"`
	Fix       *Fix   `json:"fix,omitempty"`
}

// A Fix replaces the text from Line:Column to EndLine:EndColumn.
type Fix struct {
	Message   string `json:"message"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
	Text      string `json:"text"`
}

// String is file:line:col: message, with the parts that are known, and where to read more.
func (p Problem) String() string {
	at := files.Name(p.File) + ":"
	switch {
	case p.File == "":
		at = ""
	case p.Line == 0:
		at += " "
	default:
		at += fmt.Sprintf("%d:%d: ", p.Line, p.Column)
	}
	return at + files.Line(fmt.Sprintf("%s (lockgen -explain %s)", p.Message, p.Kind))
}

// At makes a problem of a range of source text.
func At(fset *token.FileSet, pos, end token.Pos, kind, format string, args ...any) Problem {
	from := fset.PositionFor(pos, false) // what the user edits, whatever a //line comment says
	p := Problem{File: from.Filename, Line: from.Line, Column: from.Column, Kind: kind,
		Message: fmt.Sprintf(format, args...)}
	if end.IsValid() {
		to := fset.PositionFor(end, false)
		p.EndLine, p.EndColumn = to.Line, to.Column
	}
	return p
}

// FromDirective are problems of package directive with their places in the files.
func FromDirective(fset *token.FileSet, found []directive.Problem) []Problem {
	var problems []Problem
	for _, d := range found {
		p := At(fset, d.Pos, d.End, d.Slug, "%s", d.Message)
		if d.Fix != nil {
			from, to := fset.PositionFor(d.Fix.Pos, false), fset.PositionFor(d.Fix.End, false)
			p.Fix = &Fix{Message: d.Fix.Message, Text: d.Fix.Text,
				Line: from.Line, Column: from.Column, EndLine: to.Line, EndColumn: to.Column}
		}
		problems = append(problems, p)
	}
	return problems
}

// Tidy puts problems into reading order without repetitions and shortens file names to what a terminal user expects.
func Tidy(problems []Problem, dir string) []Problem {
	problems = withoutRepeats(problems)
	for i := range problems {
		problems[i].File = files.Relative(dir, problems[i].File)
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(problems, func(a, b Problem) bool { return a.String() == b.String() })
}

// Print writes one line for each problem.
func Print(w io.Writer, problems []Problem) {
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
}

// withoutRepeats leaves out clashes of a name that package directive has reported already for the same directive.
func withoutRepeats(problems []Problem) []Problem {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p Problem) bool {
		if p.Kind != "name-clash" && p.Kind != "wrapper-name" {
			return false
		}
		at := p.File + ":" + strconv.Itoa(p.Line)
		repeat := p.Kind == "name-clash" && seen[at]
		seen[at] = true
		return repeat
	})
}
