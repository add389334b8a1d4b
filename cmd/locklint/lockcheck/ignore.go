package lockcheck

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// ignoresAnalyzer reads the comments that silence findings. Suppression is the analyzers' own business because none
// of the drivers that run them under go vet has any.
var ignoresAnalyzer = &analysis.Analyzer{
	Name:             "lockignore",
	Doc:              "read //locklint:ignore and //nolint:locklint comments for the other analyzers of locklint",
	URL:              docsURL,
	Run:              func(pass *analysis.Pass) (any, error) { return readIgnores(pass), nil },
	ResultType:       reflect.TypeFor[*ignores](),
	RunDespiteErrors: true,
}

// An ignore is one comment. It silences the line it stands on, the line below it if it stands alone, and the whole
// declaration if it belongs to a function's doc comment.
type ignore struct {
	pos    token.Pos
	ids    []string // empty: every check, as //nolint:locklint says
	reason string   // a //locklint:ignore without one silences nothing
	nolint bool

	file        string
	first, last int // lines

	used bool // under ignores.mu
}

// ignores are the comments of a package. The checks run in parallel, so marking one as used is guarded.
type ignores struct {
	mu   sync.Mutex
	list []*ignore

	generated map[string]bool // file names
}

var (
	ignoreComment = regexp.MustCompile(`^//locklint:ignore(?:[ \t]+([A-Za-z0-9,]+))?(?:[ \t]+(.*))?$`)
	nolintComment = regexp.MustCompile(`^//\s*nolint:\s*([a-zA-Z0-9_,\- ]+)`)
)

func readIgnores(pass *analysis.Pass) *ignores {
	igs := &ignores{generated: map[string]bool{}}
	for _, file := range pass.Files {
		name := pass.Fset.Position(file.Package).Filename
		if ast.IsGenerated(file) {
			igs.generated[name] = true
		}
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
				ig.pos, ig.file = c.Pos(), name
				ig.place(pass.Fset, file, group, code)
				igs.list = append(igs.list, ig)
			}
		}
	}
	return igs
}

// parseIgnore reads one comment, nil if it silences nothing of ours.
func parseIgnore(text string) *ignore {
	if m := ignoreComment.FindStringSubmatch(text); m != nil {
		ig := &ignore{reason: strings.TrimSpace(m[2])}
		for id := range strings.SplitSeq(m[1], ",") {
			if id = strings.ToUpper(strings.TrimSpace(id)); id != "" {
				ig.ids = append(ig.ids, id)
			}
		}
		return ig
	}
	if m := nolintComment.FindStringSubmatch(text); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			if fields := strings.Fields(name); len(fields) > 0 && (fields[0] == "locklint" || fields[0] == "all") {
				return &ignore{nolint: true}
			}
		}
	}
	return nil
}

// place decides which lines a comment silences.
func (ig *ignore) place(fset *token.FileSet, file *ast.File, group *ast.CommentGroup, code map[int]bool) {
	line := fset.Position(ig.pos).Line
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

// silenced reports whether a finding of a check at a position is to be left out, and remembers the comment that did it.
func (igs *ignores) silenced(fset *token.FileSet, id string, pos token.Pos) bool {
	at := fset.Position(pos)
	igs.mu.Lock()
	defer igs.mu.Unlock()
	for _, ig := range igs.list {
		if ig.file == at.Filename && ig.first <= at.Line && at.Line <= ig.last && ig.covers(id) {
			ig.used = true
			return true
		}
	}
	return false
}

func (ig *ignore) covers(id string) bool {
	if ig.nolint {
		return true
	}
	if ig.reason == "" {
		return false
	}
	for _, i := range ig.ids {
		if i == id {
			return true
		}
	}
	return false
}
