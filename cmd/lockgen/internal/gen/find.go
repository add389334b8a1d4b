package gen

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"path/filepath"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A candidate is a file that may hold directives.
type candidate struct {
	folder *folder
	name   string
	file   *ast.File
	err    error
}

func (c *candidate) path() string { return filepath.Join(c.folder.dir, c.name) }

// find parses the candidates of all folders and collects their directives.
func (g *generator) find() {
	var all []*candidate
	for _, f := range g.folders {
		for _, name := range f.goFiles {
			if f.candidates[name] != nil {
				all = append(all, &candidate{folder: f, name: name})
			}
		}
	}
	each(len(all), func(i int) {
		c := all[i]
		c.file, c.err = parser.ParseFile(g.files.fset, c.path(), c.folder.candidates[c.name],
			parser.ParseComments|parser.SkipObjectResolution)
	})
	defaults := packageDefaults{}
	for _, c := range all {
		if c.err != nil {
			g.syntax(c.path(), c.err)
			continue
		}
		g.files.ast[c.path()] = c.file
		found, s := directive.Find(c.file), setOf(c.name, c.file)
		g.problems = append(g.problems, fromDirective(g.files.fset, found.Problems)...)
		for _, d := range found.Defaults {
			g.addDefaults(defaults, c, d)
		}
		for _, a := range found.Funcs {
			g.found = append(g.found, &annotated{Annotated: a, folder: c.folder, name: c.name, file: c.file, set: s})
		}
	}
	g.applyDefaults(defaults)
}

// syntax reports what keeps a file from being read. What its directives ask for is then unknown.
func (g *generator) syntax(path string, err error) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		g.problems = append(g.problems, Problem{File: path, Kind: "syntax", Message: err.Error()})
		return
	}
	for _, e := range list {
		g.problems = append(g.problems, Problem{File: path, Line: e.Pos.Line, Column: e.Pos.Column, Kind: "syntax",
			Message: e.Msg})
	}
}
