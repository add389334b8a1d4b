// Package suppress reads the comments that silence findings.
package suppress

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/docs"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/generated"
)

// A Silence says which comment silences a finding and why.
type Silence struct {
	Pos    token.Pos // of the comment
	Reason string    // "" for //nolint:locklint, which need not have one
}

// Analyzer reads the comments that silence findings. Suppression is the analyzers' own business because none
// of the drivers that run them under go vet has any.
var Analyzer = &analysis.Analyzer{
	Name:             "lockignore",
	Doc:              "read //locklint:ignore and //nolint:locklint comments for the other analyzers of locklint",
	URL:              docs.Checks,
	Run:              func(pass *analysis.Pass) (any, error) { return readIgnores(pass), nil },
	ResultType:       reflect.TypeFor[*Comments](),
	RunDespiteErrors: true,
}

// An Comment is one comment. It silences the line it stands on, the line below it if it stands alone, and the whole
// declaration if it belongs to a function's doc comment.
type Comment struct {
	Pos    token.Pos
	Text   string
	IDs    []string // empty: every check, as //nolint:locklint says
	Reason string   // a //locklint:ignore without one silences nothing
	Nolint bool

	file        string
	first, last int // lines

	Used map[string]bool // the IDs of the findings it silenced; under ignores.mu
}

// Comments are the comments of a package. The checks run in parallel, so marking one as used is guarded.
type Comments struct {
	mu   sync.Mutex
	List []*Comment

	Generated map[string]bool // file names
	Lockgen   map[string]bool // those of them that lockgen has written
	Cgo       map[string]bool // files whose syntax is cgo's rewriting of them
}

var (
	ignoreComment = regexp.MustCompile(`^//locklint:ignore(?:[ \t]+([A-Za-z0-9,]+))?(?:[ \t]+(.*))?$`)
	nolintComment = regexp.MustCompile(`^//\s*nolint:\s*([a-zA-Z0-9_,\- ]+)`)
)

func readIgnores(pass *analysis.Pass) *Comments {
	igs := &Comments{Generated: map[string]bool{}, Lockgen: map[string]bool{}, Cgo: map[string]bool{}}
	for _, file := range pass.Files {
		name := pass.Fset.Position(file.Package).Filename
		igs.Generated[name], igs.Cgo[name] = generated.Is(file)
		igs.Lockgen[name] = igs.Generated[name] && generated.ByLockgen(file)
		var code map[int]bool // lines on which code ends, computed for files that have a comment to place
		for _, group := range file.Comments {
			for _, c := range group.List {
				ig := parseIgnore(c.Text)
				if ig == nil {
					continue
				}
				if code == nil {
					code = codeLines(pass.Fset, file)
				}
				ig.Pos, ig.Text, ig.file, ig.Used = c.Pos(), c.Text, name, map[string]bool{}
				ig.place(pass.Fset, file, group, code)
				igs.List = append(igs.List, ig)
			}
		}
	}
	return igs
}

// parseIgnore reads one comment, nil if it silences nothing of ours.
func parseIgnore(text string) *Comment {
	if m := ignoreComment.FindStringSubmatch(text); m != nil {
		ig := &Comment{Reason: strings.TrimSpace(m[2])}
		for id := range strings.SplitSeq(m[1], ",") {
			if id = strings.ToUpper(strings.TrimSpace(id)); id != "" {
				ig.IDs = append(ig.IDs, id)
			}
		}
		return ig
	}
	if m := nolintComment.FindStringSubmatch(text); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			if fields := strings.Fields(name); len(fields) > 0 && (fields[0] == "locklint" || fields[0] == "all") {
				return &Comment{Nolint: true}
			}
		}
	}
	return nil
}

// place decides which lines a comment silences.
func (ig *Comment) place(fset *token.FileSet, file *ast.File, group *ast.CommentGroup, code map[int]bool) {
	line := fset.Position(ig.Pos).Line
	ig.first, ig.last = line, line
	if code[line] {
		return // behind code
	}
	for _, decl := range file.Decls {
		if fd, ok := decl.(*ast.FuncDecl); ok && fd.Doc == group {
			ig.last = fset.Position(fd.End()).Line
			return
		}
	}
	// Alone on its line: what follows the comment, which may go on for some lines.
	ig.last = fset.Position(group.End()).Line + 1
}

// codeLines are the lines on which some code stands.
func codeLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.File:
			return true
		}
		lines[fset.Position(n.Pos()).Line] = true
		lines[fset.Position(n.End()).Line] = true
		return true
	})
	return lines
}

// Silence returns what silences a finding of a check at a position, nil if nothing does, and remembers that the comment
// was needed.
func (igs *Comments) Silence(fset *token.FileSet, id string, pos token.Pos) *Silence {
	at := fset.Position(pos)
	igs.mu.Lock()
	defer igs.mu.Unlock()
	for _, ig := range igs.List {
		if ig.file == at.Filename && ig.first <= at.Line && at.Line <= ig.last && ig.covers(id) {
			ig.Used[id] = true
			return &Silence{Pos: ig.Pos, Reason: ig.Reason}
		}
	}
	return nil
}

func (ig *Comment) covers(id string) bool {
	return ig.Nolint || ig.Reason != "" && slices.Contains(ig.IDs, id)
}
