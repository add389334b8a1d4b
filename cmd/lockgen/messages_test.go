package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// reporters are the functions of both packages that take the format of a message.
var reporters = map[string]bool{"add": true, "report": true, "whole": true, "at": true, "named": true, "constant": true, "problemAt": true, "refuse": true}

var verb = regexp.MustCompile(`%[a-z]`)

// TestErrors_everyMessage: every format of a message is seen in what a script expects, or in the tests of package directive.
func TestErrors_everyMessage(t *testing.T) {
	var seen strings.Builder
	for _, pattern := range []string{"testdata/errors/*.txtar", "testdata/*.txtar", "../internal/directive/*_test.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			seen.Write(text)
		}
	}
	formats := messageFormats(t)
	if len(formats) < 80 {
		t.Errorf("only %d formats", len(formats))
	}
	for format, where := range formats {
		var parts []string
		for _, part := range verb.Split(format, -1) {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		if !regexp.MustCompile(strings.Join(parts, ".*")).MatchString(seen.String()) {
			t.Errorf("%s: no program has the message %q", where, format)
		}
	}
}

// messageFormats collects the format of every message with its place.
func messageFormats(t *testing.T) map[string]string {
	t.Helper()
	formats := map[string]string{}
	for _, dir := range []string{"../internal/directive", "internal/gen"} {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && reporters[called(call)] {
					if format := longest(call.Args); strings.Contains(format, " ") {
						formats[format] = fset.Position(call.Pos()).String()
					}
				}
				return true
			})
		}
	}
	return formats
}

func called(call *ast.CallExpr) string {
	switch fn := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fn.Sel.Name
	case *ast.Ident:
		return fn.Name
	}
	return ""
}

// longest is the longest text among arguments: the format, not the kind beside it.
func longest(args []ast.Expr) string {
	found := ""
	for _, arg := range args {
		if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && len(text) > len(found) {
				found = text
			}
		}
	}
	return found
}
