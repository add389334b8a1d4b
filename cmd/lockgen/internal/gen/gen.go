package gen

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"go/types"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	srcfiles "github.com/lockgen/lockgen/cmd/internal/files"
)

// Config says what to generate for.
type Config struct {
	Dir      string   // where patterns start, absolute
	Patterns []string // packages as the go command takes them
	Tags     string   // build tags, comma separated
	Env      []string // of the go command
	Out      string   // a folder, or a file with .go, that takes the output; "": beside the sources
	// Logf tells what is done, for -v. Warnf tells what is no error and probably not meant. Both may be nil.
	Logf, Warnf func(format string, args ...any)

	Collisions bool // compare the keys of all functions

	home platform
	// For tests:
	loadAll bool // always ask the go command
	check   func(*checker, *packages.Package) (*types.Package, *types.Info)
}

// A Result is what the packages ask for. Where there are problems, Files is empty: nothing is to be written.
type Result struct {
	Problems []Problem
	Files    []File // sorted by path
	// Collisions are keys of different functions that can be the same, if Config asks for them.
	Collisions []Problem
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
	if err == nil && cfg.Collisions && len(result.Problems) == 0 {
		for _, c := range g.collisions() {
			result.Collisions = append(result.Collisions, c.Problem())
		}
	}
	return result, err
}

// understand scans, loads and binds.
func understand(ctx context.Context, cfg Config) (*generator, error) {
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	if cfg.Warnf == nil {
		cfg.Warnf = cfg.Logf
	}
	if cfg.check == nil {
		cfg.check = (*checker).check
	}
	cfg.home = homePlatform(cfg)
	folders, problems, err := scan(ctx, cfg)
	if err != nil {
		return nil, err
	}
	g := &generator{cfg: cfg, files: newSources(), problems: problems}
	for _, f := range folders {
		if g.dirs = append(g.dirs, f.dir); !f.idle() {
			g.folders = append(g.folders, f)
		}
	}
	g.find()
	if old := g.tooNew(runtime.Version()); len(old) > 0 {
		g.problems = old // what else there is to say may come from that
		return g, nil
	}
	if err := g.bindAll(ctx); err != nil {
		return nil, err
	}
	if len(g.problems) == 0 {
		if err := g.sameJobs(ctx); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// result makes the files of what has been bound, or hands back the problems.
func (g *generator) result() (*Result, error) {
	groups := g.byOutput()
	g.foreign(groups)
	g.clashesElsewhere()
	g.typesElsewhere()
	g.hiddenJobs()
	g.lostJobs()
	g.problems = withoutRepeats(g.problems)
	if len(g.problems) > 0 {
		return &Result{Problems: tidy(g.problems, g.cfg.Dir)}, nil
	}
	files, err := g.render(g.plan(groups))
	if err != nil {
		return nil, err
	}
	if g.cfg.Out != "" {
		files, err = g.elsewhere(files)
		return &Result{Files: files}, err
	}
	result := &Result{Files: files}
	for _, f := range g.folders {
		result.Leftovers = append(result.Leftovers, f.leftovers...)
	}
	return result, nil
}

// foreign reports files that have the name of an output and were written by somebody else: they are not ours to
// replace.
func (g *generator) foreign(groups map[string][]*unit) {
	for path, units := range groups {
		f, name := units[0].folder, filepath.Base(path)
		switch {
		case f.blocked[name] || slices.Contains(f.skipped, path):
			g.problems = append(g.problems, notRegular(path))
		case f.outputs[name] == nil && slices.Contains(f.goFiles, name):
			g.problems = append(g.problems, Problem{File: path, Line: 1, Column: 1, Kind: "foreign",
				Message: "this file was not written by lockgen, which would write its own here: rename it"})
		}
		for _, other := range f.goFiles {
			if other != name && strings.EqualFold(other, name) {
				g.problems = append(g.problems, Problem{File: filepath.Join(f.dir, other), Line: 1, Column: 1, Kind: "foreign",
					Message: fmt.Sprintf("lockgen would write %s beside this file, and the go command refuses names that differ in "+
						"case only: rename it", name)})
			}
		}
	}
}

// homePlatform is what the go command builds for by default.
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
	dirs     []string  // of all folders that were asked for
}

// render makes the files of all units, and finds those on disk that no directive is left for.
func (g *generator) render(outputs []*output) ([]File, error) {
	have := map[string][]byte{}
	for _, f := range g.folders {
		for name, content := range f.outputs {
			have[filepath.Join(f.dir, name)] = content
		}
	}
	files := make([]File, len(outputs))
	errs := make([]error, len(outputs))
	each(len(outputs), func(i int) {
		out := outputs[i]
		files[i] = File{Path: out.path, Have: have[out.path]}
		if files[i].Want, errs[i] = out.render(); files[i].Have != nil {
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
		if carriesHeader(content) {
			files = append(files, File{Path: path, Have: content})
		} else {
			g.cfg.Logf("%s has the name of a generated file but not its first line: left alone",
				srcfiles.Name(relative(g.cfg.Dir, path)))
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}
