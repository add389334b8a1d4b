package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// notMessages are the texts of more than one word in the sources that no program can have as a message: a file, a text
// in it or "" for all of them, and why. Each has to be there.
var notMessages = []struct{ file, text, why string }{
	{"slugs.go", "", "what locklint explains kinds of problems with"},
	{"platform.go", "", "names of systems"},
	{"difference.go", "the number of keys", "locklint says it"},
	{"standin.go", "", "names of packages"},
	{"options.go", "both change the stock", "an example of a value"},
	{"list.go", "2006-01-02 15:04:05 MST", "a form of time"},
	{"list.go", "of the process", "a word in a table, which a script prints"},
	{"lockerpath.go", "/* type parameter */", "what go/types writes"},
	{"run.go", "interrupted, nothing was written", "a signal, see TestRun_interruptedWritesNothing"},
	{"reserved.go", "GobDecode GobEncode", "names of methods"},
	{"doccomment.go", "", "comments in generated code"},
	{"lookalike.go", "^( ?)(?i:", "a regular expression"},
	{"lookalike.go", "^ ?(?:", "a regular expression"},
	{"together.go", "0 0 * * *", "a specification that any zone goes with"},
	{"jobs.go", " adds the scheduled jobs of ", "a comment in generated code"},
	{"jobs.go", "this package", "the same"},
	{"jobs.go", ". Every node registers them", "the same"},
	{"render.go", "Undefined? Then the runtime package", "the same"},
	{"render.go", "lockgen: render ", "a bug in lockgen"},
	{"render.go", "which is a bug in lockgen", "a bug in lockgen"},
	{"render.go", "import (\n", "a line of generated code"},
	{"nesting.go", "//go:build ignore", "a file that takes the place of one to be removed"},
	{"bodies.go", "build constraints exclude all", "what the go command writes"},
	{"checker.go", "package %s was not found", "dropped with the other type errors"},
	{"draw.go", "%%", "a comment in a drawing"},
	{"typeselsewhere.go", "(?m)^", "a regular expression"},
	{"run.go", "Lockgen writes lock_gen.go beside", "the help, which a script prints"},
}

// spoken are the functions whose texts are for -v and for warnings; scripts look at them where it matters.
var spoken = map[string]bool{"Logf": true, "logf": true}

var verb = regexp.MustCompile(`%\+?[a-z]`)

// TestErrors_everyMessage: every text in the sources that can become a message, or a part of one, is seen in what a
// script expects. A message that no program provokes is one that nobody has read.
func TestErrors_everyMessage(t *testing.T) {
	seen := expectations(t)
	used := map[int]bool{}
	n := 0
	for _, text := range texts(t) {
		if i := slices.IndexFunc(notMessages, text.excused); i >= 0 {
			used[i] = true
			continue
		}
		n++
		for line := range strings.Lines(text.value) {
			var parts []string
			for _, part := range verb.Split(line, -1) {
				parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
			}
			if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(seen) {
				t.Errorf("%s: no program has the message %q", text.pos, line)
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d texts", n)
	}
	for i, not := range notMessages {
		if !used[i] {
			t.Errorf("%s no longer holds %q: take it off the list", not.file, not.text)
		}
	}
}

// expectations are the lines of the scripts that say what is printed, not the programs in them.
func expectations(t *testing.T) string {
	t.Helper()
	var seen strings.Builder
	for _, pattern := range []string{"testdata/errors/*.txtar", "testdata/*.txtar"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 10 {
			t.Fatal(pattern, paths, err)
		}
		for _, path := range paths {
			expected := false
			for line := range strings.Lines(string(mustRead(t, path))) {
				switch _, pattern, ok := strings.Cut(line, "std"); {
				case strings.HasPrefix(line, "-- "):
					expected = strings.HasPrefix(line, "-- want")
				case expected:
					seen.WriteString(line)
				case ok && (strings.HasPrefix(pattern, "err ") || strings.HasPrefix(pattern, "out ")):
					seen.WriteString(strings.ReplaceAll(pattern, `\`, ""))
				}
			}
		}
	}
	return seen.String()
}

// A text is a string literal of more than one word.
type text struct {
	file, value string
	pos         token.Position
}

func (x text) excused(not struct{ file, text, why string }) bool {
	return x.file == not.file && strings.Contains(x.value, not.text)
}

func texts(t *testing.T) []text {
	t.Helper()
	var found []text
	for _, pattern := range []string{"../internal/directive/*.go", "internal/*/*.go", "internal/*/*/*.go", "*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				found = append(found, textsOf(t, path)...)
			}
		}
	}
	return found
}

func textsOf(t *testing.T, path string) []text {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []text
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if sel, ok := node.Fun.(*ast.SelectorExpr); ok && spoken[sel.Sel.Name] {
				return false
			}
		case ast.Expr:
			value, ok := literal(node)
			if ok && strings.Contains(strings.TrimSpace(value), " ") {
				found = append(found, text{filepath.Base(path), value, fset.Position(node.Pos())})
			}
			return !ok
		}
		return true
	})
	return found
}

// literal is the value of a string that may stand in several lines.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, ok := literal(e.X)
		y, also := literal(e.Y)
		return x + y, ok && also
	}
	return "", false
}
