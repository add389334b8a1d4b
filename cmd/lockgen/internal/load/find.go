package load

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/parallel"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// A candidate is a file that may hold directives.
type candidate struct {
	folder *Folder
	name   string
	file   *ast.File
	err    error
}

func (c *candidate) path() string { return filepath.Join(c.folder.Dir, c.name) }

// find parses the candidates of all folders and collects their directives.
func (l *loader) find() {
	var all []*candidate
	for _, f := range l.Folders {
		for _, name := range f.GoFiles {
			if f.candidates[name] != nil {
				all = append(all, &candidate{folder: f, name: name})
			}
		}
	}
	parallel.For(len(all), func(i int) {
		c := all[i]
		c.file, c.err = parser.ParseFile(l.Files.Fset, c.path(), c.folder.candidates[c.name],
			parser.ParseComments|parser.SkipObjectResolution)
	})
	defaults := packageDefaults{}
	for _, c := range all {
		if c.err != nil {
			l.syntax(c.path(), c.err)
			continue
		}
		l.Files.Add(c.path(), c.file)
		found, s := directive.Find(c.file), output.SetOf(c.name, c.file)
		l.Problems = append(l.Problems, problem.FromDirective(l.Files.Fset, found.Problems)...)
		for _, d := range found.Defaults {
			l.addDefaults(defaults, c, d)
		}
		for _, a := range found.Funcs {
			l.found = append(l.found, &annotated{Annotated: a, folder: c.folder, name: c.name, file: c.file, set: s})
		}
	}
	l.applyDefaults(defaults)
}

// syntax reports what keeps a file from being read. What its directives ask for is then unknown.
func (l *loader) syntax(path string, err error) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		l.Problems = append(l.Problems, problem.Problem{File: path, Kind: "syntax", Message: err.Error()})
		return
	}
	for _, e := range list {
		l.Problems = append(l.Problems, problem.Problem{File: path, Line: e.Pos.Line, Column: e.Pos.Column, Kind: "syntax",
			Message: e.Msg})
	}
}
