package gen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// Config says what to generate for.
type Config struct {
	Dir      string   // where patterns start, absolute
	Patterns []string // packages as the go command takes them
	Tags     string   // build tags, comma separated
	Env      []string // of the go command
	// Logf tells what is done, for -v.
	Logf func(format string, args ...any)

	home    platform
	loadAll bool // always ask the go command, for tests
}

// A Result is what the packages ask for. Where there are problems, Files is empty: nothing is to be written.
type Result struct {
	Problems []Problem
	Files    []File // sorted by path
}

// A File is a generated file: as it is to be, and as it is on disk.
type File struct {
	Path string
	Want []byte // nil if the file is to be removed: no directive is left that it could come from
	Have []byte // nil if there is none
}

// Changed tells whether the disk differs from what is wanted.
func (f File) Changed() bool {
	return !bytes.Equal(f.Want, f.Have) || (f.Want == nil) != (f.Have == nil)
}

// Generate computes the files of all packages. It writes nothing. The error is about lockgen's own work, such as a go
// command that cannot be started; what is wrong with the packages is in Problems.
func Generate(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	cfg.home = homePlatform(cfg)
	folders, problems, err := scan(ctx, cfg)
	if err != nil {
		return nil, err
	}
	g := &generator{cfg: cfg, files: &sources{fset: token.NewFileSet(), ast: map[string]*ast.File{}, broken: map[string]bool{}}, problems: problems, folders: folders}
	for _, f := range folders {
		g.find(f)
	}
	if old := g.tooNew(runtime.Version()); len(old) > 0 {
		return &Result{Problems: tidy(old, cfg.Dir)}, nil // what else there is to say may come from that
	}
	if err := g.bindAll(ctx); err != nil {
		return nil, err
	}
	return g.result()
}

// result makes the files of what has been bound, or hands back the problems.
func (g *generator) result() (*Result, error) {
	groups := g.byOutput()
	g.foreign(groups, g.folders)
	g.clashesElsewhere()
	g.problems = withoutRepeats(g.problems)
	if len(g.problems) > 0 {
		return &Result{Problems: tidy(g.problems, g.cfg.Dir)}, nil
	}
	files, err := g.render(g.plan(groups), g.folders)
	if err != nil {
		return nil, err
	}
	return &Result{Files: files}, nil
}

// foreign reports files that have the name of an output and were written by somebody else: they are not ours to replace.
func (g *generator) foreign(groups map[string][]*unit, folders []*folder) {
	for path := range groups {
		for _, f := range folders {
			name := filepath.Base(path)
			if f.dir == filepath.Dir(path) && f.outputs[name] == nil && slices.Contains(f.goFiles, name) {
				g.problems = append(g.problems, Problem{File: path, Line: 1, Column: 1, Kind: "foreign",
					Message: "this file was not written by lockgen, which would write its own here: rename it"})
			}
		}
	}
}

// homePlatform is what the go command builds for when nobody says otherwise.
func homePlatform(cfg Config) platform {
	b := build.Default
	tags := cfg.Tags
	if tags == "" {
		for flag := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
			if value, ok := strings.CutPrefix(strings.TrimPrefix(flag, "-"), "-tags="); ok {
				tags = value
			} else if value, ok := strings.CutPrefix(flag, "-tags="); ok {
				tags = value
			}
		}
	}
	return platform{goos: b.GOOS, goarch: b.GOARCH, cgo: b.CgoEnabled, tags: joinTags(tags, nil)}
}

// A generator carries what the steps have found so far.
type generator struct {
	cfg      Config
	files    *sources
	found    []*annotated
	byPath   map[string][]*annotated // found, by file
	units    []*unit
	problems []Problem
	modules  modules
	folders  []*folder // with candidates or outputs
}

// find parses the candidates of a folder and collects their directives.
func (g *generator) find(f *folder) {
	for _, name := range f.goFiles {
		content, ok := f.candidates[name]
		if !ok {
			continue
		}
		path := filepath.Join(f.dir, name)
		file, err := parser.ParseFile(g.files.fset, path, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			g.syntax(path, err)
		}
		if file == nil || err != nil {
			continue
		}
		g.files.ast[path] = file
		found := directive.Find(file)
		g.problems = append(g.problems, fromDirective(g.files.fset, found.Problems)...)
		for _, a := range found.Funcs {
			g.problems = append(g.problems, fromDirective(g.files.fset, a.Problems)...)
			g.found = append(g.found, &annotated{Annotated: a, folder: f, name: name, file: file, set: setOf(name, file)})
		}
	}
}

// syntax reports what keeps a file from being read. Without reading it nobody knows what its directives ask for.
func (g *generator) syntax(path string, err error) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		g.problems = append(g.problems, Problem{File: path, Kind: "syntax", Message: err.Error()})
		return
	}
	for _, e := range list {
		g.problems = append(g.problems, Problem{File: path, Line: e.Pos.Line, Column: e.Pos.Column, Kind: "syntax", Message: e.Msg})
	}
}

// render makes the files of all units, and finds those on disk that no directive is left for.
func (g *generator) render(outputs []*output, folders []*folder) ([]File, error) {
	have := map[string][]byte{}
	for _, f := range folders {
		for name, content := range f.outputs {
			have[filepath.Join(f.dir, name)] = content
		}
	}
	var files []File
	for _, out := range outputs {
		content, err := out.render()
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: out.path, Want: content, Have: have[out.path]})
		delete(have, out.path)
	}
	for path, content := range have {
		if carriesHeader(content) {
			files = append(files, File{Path: path, Have: content})
		} else {
			g.cfg.Logf("%s has the name of a generated file but not its first line: left alone", relative(g.cfg.Dir, path))
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}
