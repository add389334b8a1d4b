package examples

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// snippet is one block of Go in a text.
type snippet struct {
	line int // of its first line in the text
	code string
}

// snippets finds the blocks that a Markdown text marks as Go.
func snippets(markdown string) []snippet { return blocks(markdown, "```go") }

// refused finds the blocks of declarations that lockgen refuses.
func refused(markdown string) []snippet { return blocks(markdown, "```go refused") }

// blocks finds the fenced blocks of a Markdown text that begin with this line.
func blocks(markdown, begin string) []snippet {
	var found []snippet
	var open *snippet
	n := 0
	for line := range strings.Lines(markdown) {
		n++
		switch {
		case open != nil && strings.TrimSpace(line) == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.code += line
		case strings.TrimSpace(line) == begin:
			open = &snippet{line: n + 1}
		}
	}
	return found
}

// A text in prose does not count as code: comments, but for those that a tool reads.
var forTools = regexp.MustCompile(`^// ?(lock:|go:|locklint:)`)

// split separates the tokens of a piece of Go from its comments.
func split(code string) (tokens, comments []string) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(code))
	s.Init(file, []byte(code), nil, scanner.ScanComments)
	for {
		switch _, tok, text := s.Scan(); {
		case tok == token.EOF:
			return tokens, comments
		case tok == token.COMMENT && !forTools.MatchString(text):
			comments = append(comments, text)
		default:
			tokens = append(tokens, tok.String()+" "+text)
		}
	}
}

// known are the imports that a snippet without its own may use, by name.
var known = map[string]string{
	"context": "context",
	"errors":  "errors",
	"fmt":     "fmt",
	"http":    "net/http",
	"log":     "log",
	"redis":   "github.com/redis/go-redis/v9",
	"sql":     "database/sql",
	"time":    "time",

	"dashboard":  "github.com/lockgen/lockgen/jobs/dashboard",
	"fence":      "github.com/lockgen/lockgen/runtime/fence",
	"jobs":       "github.com/lockgen/lockgen/jobs",
	"jobstore":   "github.com/lockgen/lockgen/jobs/sqlstore",
	"lockrt":     "github.com/lockgen/lockgen/runtime",
	"memstore":   "github.com/lockgen/lockgen/runtime/memstore",
	"redisstore": "github.com/lockgen/lockgen/runtime/redisstore",
}

// around is the function that surrounds statements: what they may refer to, and
// a result so that they may return an error.
const around = `
func snippet(
	ctx context.Context, locks *lockrt.Locker, s *jobs.Scheduler, client redis.UniversalClient, db *sql.DB,
) error {
	%s
	return nil
}
`

// file completes a snippet: whole files stay as they are, declarations get the
// imports they use, statements get a function around them as well.
func (s snippet) file() (string, error) {
	_, fileErr := parse(s.code)
	if fileErr == nil {
		return s.code, nil
	}
	if strings.HasPrefix(s.code, "package ") {
		return "", fileErr
	}
	if text := "package snippet\n" + s.code; parses(text) {
		return withImports(text)
	}
	text := "package snippet\n" + fmt.Sprintf(around, s.code)
	if _, err := parse(text); err != nil {
		return "", fmt.Errorf("neither a file nor declarations nor statements: %w", err)
	}
	return withImports(text)
}

func parse(text string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "snippet.go", text, parser.ParseComments)
}

func parses(text string) bool {
	_, err := parse(text)
	return err == nil
}

// withImports adds the known imports that the text uses as a qualifier.
func withImports(text string) (string, error) {
	f, err := parse(text)
	if err != nil {
		return "", err
	}
	var specs []string
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && known[x.Name] != "" {
				specs = append(specs, importSpec(x.Name))
			}
		}
		return true
	})
	slices.Sort(specs)
	imports := "import (\n" + strings.Join(slices.Compact(specs), "") + ")\n"
	return strings.Replace(text, "package snippet\n", "package snippet\n\n"+imports, 1), nil
}

func importSpec(name string) string {
	if path.Base(known[name]) == name {
		return fmt.Sprintf("\t%q\n", known[name])
	}
	return fmt.Sprintf("\t%s %q\n", name, known[name])
}
