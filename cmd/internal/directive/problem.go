package directive

import (
	"cmp"
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
	Fix      *Fix      // what to write instead, nil where that is anybody's guess
}

// A Fix replaces the text between Pos and End with Text. Applying it does not change what a correct directive means:
// it repairs spelling.
type Fix struct {
	Pos, End token.Pos
	Text     string
	Message  string // such as `write "wait"`
}

// sortProblems orders problems by position, then by slug, and drops exact repetitions.
func sortProblems(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.End, b.End), cmp.Compare(a.Slug, b.Slug))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.Pos == b.Pos && a.End == b.End && a.Slug == b.Slug && a.Message == b.Message
	})
}
