package gen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	srcfiles "github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/clash"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/parallel"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/render"
)

// Config says what to generate for.
type Config struct {
	Dir      string   // where patterns start, absolute
	Patterns []string // packages as the go command takes them
	Tags     string   // build tags, comma separated
	Env      []string // of the go command
	Out      string   // a folder, or a file with .go, that takes the output; "": beside the sources
	// Logf reports what is done, for -v. Warnf reports what is not an error but probably a mistake. Both may be nil.
	Logf, Warnf func(format string, args ...any)

	Collisions bool // compare the keys of all functions

	adjust func(*load.Config) // for tests
}

// A Result is what the packages ask for. Where there are problems, Files is empty: nothing is to be written.
type Result struct {
	Problems []problem.Problem
	Files    []File // sorted by path
	// Collisions are keys of different functions that can be the same, if Config asks for them.
	Collisions []problem.Problem
	// Leftovers are temporary files of runs that were killed.
	Leftovers []string
}

// A File is a generated file: as it is to be, and as it is on disk.
type File struct {
	Path string
	Want []byte // nil if the file is to be removed: no directive is left that it could come from
	Have []byte // nil if there is none
}

// changed tells whether the disk differs from what is wanted.
func (f File) changed() bool {
	return !bytes.Equal(f.Want, f.Have) || (f.Want == nil) != (f.Have == nil)
}

// Generate computes the files of all packages. It writes nothing. The error is about lockgen's own work, such as a go
// command that cannot be started; what is wrong with the packages is in Problems.
func Generate(ctx context.Context, cfg Config) (*Result, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, err
	}
	result, err := g.result()
	if err == nil && len(result.Problems) == 0 {
		if found := g.upgrades(ctx, result.Files); len(found) > 0 {
			return &Result{Problems: problem.Tidy(found, cfg.Dir)}, nil
		}
	}
	if err == nil && cfg.Collisions && len(result.Problems) == 0 {
		for _, c := range clash.Collisions(g.Program) {
			result.Collisions = append(result.Collisions, c.Problem())
		}
	}
	return result, err
}

// understand loads the packages, and finds what keeps their functions from being generated together.
func understand(ctx context.Context, cfg Config) (*generator, error) {
	from := load.Config{Dir: cfg.Dir, Patterns: cfg.Patterns, Tags: cfg.Tags, Env: cfg.Env, Links: cfg.Out != "",
		Logf: cfg.Logf, Warnf: cfg.Warnf}
	if cfg.adjust != nil {
		cfg.adjust(&from)
	}
	p, err := load.Load(ctx, from)
	if err != nil {
		return nil, err
	}
	g := &generator{Program: p, cfg: cfg}
	more, err := clash.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	g.found = append(slices.Clip(p.Problems), more...)
	return g, nil
}

// result makes the files of what has been bound, or hands back the problems.
func (g *generator) result() (*Result, error) {
	groups := g.byOutput()
	if problems := append(g.found, g.foreign(groups)...); len(problems) > 0 {
		return &Result{Problems: problem.Tidy(problems, g.cfg.Dir)}, nil
	}
	files, err := g.render(groups)
	if err != nil {
		return nil, err
	}
	if g.cfg.Out != "" {
		files, err = g.elsewhere(files)
		return &Result{Files: files}, err
	}
	result := &Result{Files: files}
	for _, f := range g.Folders {
		result.Leftovers = append(result.Leftovers, f.Leftovers...)
	}
	return result, nil
}

// foreign reports files that have the name of an output and were written by somebody else: they are not ours to
// replace.
func (g *generator) foreign(groups map[string][]*bound.Func) []problem.Problem {
	var problems []problem.Problem
	for path, units := range groups {
		f, name := g.Folder(units[0]), filepath.Base(path)
		switch {
		case f.Blocked[name] || slices.Contains(f.Skipped, path):
			problems = append(problems, load.NotRegular(path))
		case f.Outputs[name] == nil && slices.Contains(f.GoFiles, name):
			problems = append(problems, problem.Problem{File: path, Line: 1, Column: 1, Kind: "foreign",
				Message: "this file was not written by lockgen, which would write its own here: rename it"})
		}
		for _, other := range f.GoFiles {
			if other != name && strings.EqualFold(other, name) {
				problems = append(problems, problem.Problem{File: filepath.Join(f.Dir, other), Line: 1, Column: 1, Kind: "foreign",
					Message: fmt.Sprintf("lockgen would write %s beside this file, and the go command refuses names that differ in "+
						"case only: rename it", name)})
			}
		}
	}
	return problems
}

// A generator makes files of what has been loaded.
type generator struct {
	*load.Program
	cfg   Config
	found []problem.Problem
}

// render makes the files of all units, and finds those on disk that no directive is left for.
func (g *generator) render(groups map[string][]*bound.Func) ([]File, error) {
	have := map[string][]byte{}
	for _, f := range g.Folders {
		for name, content := range f.Outputs {
			have[filepath.Join(f.Dir, name)] = content
		}
	}
	inputs := g.inputs(groups)
	files := make([]File, len(inputs))
	errs := make([]error, len(inputs))
	parallel.For(len(inputs), func(i int) {
		in := inputs[i]
		files[i] = File{Path: in.Path, Have: have[in.Path]}
		if files[i].Want, errs[i] = render.Render(in); files[i].Have != nil {
			files[i].Want = srcfiles.Like(files[i].Want, files[i].Have)
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, f := range files {
		delete(have, f.Path)
	}
	for path, content := range have {
		if output.CarriesHeader(content) {
			files = append(files, File{Path: path, Have: content})
		} else {
			g.Program.Config.Logf("%s has the name of a generated file but not its first line: left alone",
				srcfiles.Name(srcfiles.Relative(g.cfg.Dir, path)))
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}
