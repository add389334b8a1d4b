// Package unit runs the checks on one package: from its files, the types of what it imports, and what the packages
// below it have told.
//
// It is what the two ways to run locklint have in common. Under go vet the go command starts
// a process for each package and keeps what it tells in its cache; by itself locklint does the same in one process,
// and hands in what only all packages together tell, see Link.
// Neither reads the source of a dependency that has nothing to tell, and a package that cannot have findings is not
// even parsed. (x/tools' unitchecker knows no severities and no silenced findings, type-checks every package, and its
// checker wants the source of all dependencies.)
package unit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
)

// A Package is what there is to know about a package before it is looked at.
type Package struct {
	Path      string // import path, of a test variant that of the package
	GoVersion string // of the language, such as go1.26; empty: the newest
	Module    *analysis.Module
	Sizes     types.Sizes

	GoFiles, OtherFiles, IgnoredFiles []string

	Fset   *token.FileSet
	Import func(path string) (*types.Package, error) // takes the path in the import declaration
	Facts  Facts                                     // of what it imports
	Linked Facts                                     // of interfaces, see Link

	NeedTypes bool // also if it cannot have findings
	Broken    bool // something that it imports does not compile
}

// A Result is what came of it.
type Result struct {
	Checks map[*lockcheck.Check]*lockcheck.Result // nil if the package was skipped
	Facts  Facts                                  // for its importers
	Errors []error                                // why it does not compile: types.Error or *scanner.Error
	Types  *types.Package                         // nil if it was skipped

	// Failed are the checks that could not be run for another reason than Errors.
	Failed []error
}

// Run runs checks on a package. The error is about reading files; what is wrong with their text stands in the result.
func (p *Package) Run(checks []*lockcheck.Check) (*Result, error) {
	text := make(map[string][]byte, len(p.GoFiles))
	for _, name := range p.GoFiles {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text[name] = data
	}
	relevant := p.Facts.carriers() || p.Linked[p.Path].Carrier || lockcheck.Relevant(p.Module, text)
	if !relevant && !p.NeedTypes {
		return &Result{Facts: p.Facts}, nil
	}
	res := &Result{}
	files := p.parse(text, res)
	info := p.check(files, res, relevant)
	if !relevant {
		res.Facts = p.Facts
		return res, nil
	}
	r := newRun(p, files, text, info, res)
	res.Checks = r.all(checks)
	facts, err := r.facts.export()
	if err != nil {
		return nil, err
	}
	res.Facts = facts
	return res, nil
}

// parse parses the files. One with errors counts as far as the parser got.
func (p *Package) parse(text map[string][]byte, res *Result) []*ast.File {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(p.Fset, name, text[name], parser.ParseComments|parser.SkipObjectResolution)
		if list, ok := err.(scanner.ErrorList); ok {
			for _, e := range list {
				res.Errors = append(res.Errors, e)
			}
		} else if err != nil {
			res.Errors = append(res.Errors, err)
		}
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// check type-checks the files, functions' bodies only if somebody wants them. Where the parser has given up, what is
// wrong with the types is mostly of its own making, and not told.
func (p *Package) check(files []*ast.File, res *Result, bodies bool) *types.Info {
	info := &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Instances:    map[*ast.Ident]types.Instance{},
		Scopes:       map[ast.Node]*types.Scope{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		FileVersions: map[*ast.File]string{},
	}
	if !bodies {
		info = nil
	}
	conf := &types.Config{
		Importer:         importer(p.Import),
		Sizes:            p.Sizes,
		GoVersion:        p.GoVersion,
		IgnoreFuncBodies: !bodies,
		Error:            func(error) {},
	}
	seen := len(res.Errors)
	if seen == 0 {
		conf.Error = func(err error) { res.Errors = append(res.Errors, err) }
	}
	pkg, err := conf.Check(p.Path, p.Fset, files, info)
	if err != nil && len(res.Errors) == 0 { // such as a version of the language that is too new for go/types
		res.Errors = append(res.Errors, err)
	}
	res.Types = pkg
	return info
}

type importer func(path string) (*types.Package, error)

func (imp importer) Import(path string) (*types.Package, error) {
	switch path {
	case "unsafe":
		return types.Unsafe, nil
	case "C":
		return nil, fmt.Errorf("cgo did not run on this file: is there a C compiler?")
	}
	return imp(path)
}

// TestVariant splits the ID that the go command gives to a package for tests, as in "a [a.test]".
func TestVariant(id string) (path, test string) {
	path, test, _ = strings.Cut(id, " [")
	return path, strings.TrimSuffix(test, "]")
}
