package gen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// elsewhere moves the outputs to where Config.Out says, for sources that cannot be written to. What lies beside the sources
// is left alone, whatever state it is in. Of a folder, outputs that no directive is left for go.
func (g *generator) elsewhere(all []File) ([]File, error) {
	var wanted []File
	var names []string
	for _, f := range all {
		if f.Want == nil {
			continue
		}
		wanted = append(wanted, f)
		names = append(names, files.Name(files.Relative(g.cfg.Dir, f.Path)))
	}
	single := strings.HasSuffix(g.cfg.Out, ".go")
	if single && len(wanted) != 1 {
		found := "no directive asks for a file"
		if len(wanted) > 1 {
			found = fmt.Sprintf("there would be %d: %s", len(wanted), strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("lockgen: -o %s names one file, and %s; name a folder, or one package",
			files.Name(g.cfg.Out), found)
	}
	for i, f := range wanted {
		to := g.cfg.Out
		if !single {
			var ok bool
			if to, ok = g.moved(f.Path); !ok {
				return nil, fmt.Errorf("lockgen: -o repeats folders as they are seen from the current one, and %s is not below "+
					"it: run lockgen in the root of the module", names[i])
			}
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(g.cfg.Dir, to)
		}
		have, err := files.Read(to)
		switch {
		case errors.Is(err, files.ErrUnreadable):
			return nil, fmt.Errorf("lockgen: -o would replace %s, which is no regular file: delete it, or name another file",
				files.Name(files.Relative(g.cfg.Dir, to)))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("lockgen: -o cannot write %s: %w; name a folder that takes files",
				files.Name(files.Relative(g.cfg.Dir, to)), err)
		}
		if have != nil && !output.HoldsHeader(have) {
			return nil, fmt.Errorf("lockgen: -o would replace %s, which lockgen has not written: name another file",
				files.Name(files.Relative(g.cfg.Dir, to)))
		}
		wanted[i] = File{Path: to, Want: f.Want, Have: have}
		if have != nil {
			wanted[i].Want = files.Like(f.Want, have)
		}
	}
	if single {
		return wanted, nil
	}
	return append(wanted, g.movedOrphans(wanted)...), nil
}

// moved is where a path goes below the folder that takes the output. It is false for what is not below the current one.
func (g *generator) moved(path string) (string, bool) {
	rel, err := filepath.Rel(g.cfg.Dir, path)
	to := g.cfg.Out
	if !filepath.IsAbs(to) {
		to = filepath.Join(g.cfg.Dir, to)
	}
	return filepath.Join(to, rel), err == nil && filepath.IsLocal(rel)
}

// movedOrphans are outputs of earlier runs that nothing asks for: of the same packages, and of those that are gone.
func (g *generator) movedOrphans(wanted []File) []File {
	var orphans []File
	for _, dir := range append(g.goneDirs(), g.Dirs...) {
		to, ok := g.moved(dir)
		entries, err := os.ReadDir(to)
		if !ok || err != nil {
			continue // nothing was written there yet
		}
		for _, entry := range entries {
			path := filepath.Join(to, entry.Name())
			if !entry.Type().IsRegular() || !strings.HasSuffix(path, ".go") ||
				slices.ContainsFunc(wanted, func(f File) bool { return f.Path == path }) {
				continue
			}
			if have, err := files.Read(path); err == nil && output.CarriesHeader(have) {
				orphans = append(orphans, File{Path: path, Have: have})
			}
		}
	}
	slices.SortFunc(orphans, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(orphans, func(a, b File) bool { return a.Path == b.Path })
}

// goneDirs are the folders that a pattern with ... would find if they had Go files. They had some when the output was
// written for them.
func (g *generator) goneDirs() []string {
	var gone []string
	for _, root := range g.roots() {
		from, ok := g.moved(root)
		if !ok {
			continue
		}
		written, _ := load.PackageDirs(from) // nothing was written there yet, or it cannot be read and will be said to be so
		for _, dir := range written {
			rel, err := filepath.Rel(from, dir)
			if source := filepath.Join(root, rel); err == nil && !load.HasGo(source) && onlyOutputs(dir) {
				gone = append(gone, source)
			}
		}
	}
	return gone
}

// onlyOutputs tells whether lockgen wrote all Go files of a folder: an output beside sources is theirs.
func onlyOutputs(dir string) bool {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return !slices.ContainsFunc(paths, func(path string) bool {
		content, err := files.Read(path)
		return err != nil || !output.CarriesHeader(content)
	})
}

// roots are the folders that patterns with ... start at.
func (g *generator) roots() []string {
	var roots []string
	for _, pattern := range g.cfg.Patterns {
		path, recursive := strings.CutSuffix(filepath.ToSlash(pattern), "/...")
		mod := g.Modules.Of(g.cfg.Dir)
		switch {
		case !recursive:
		case load.IsPath(pattern):
			roots = append(roots, load.RootOf(g.cfg.Dir, path))
		case mod != nil && (path == mod.Path() || strings.HasPrefix(path, mod.Path()+"/")):
			roots = append(roots, mod.DirOf(path))
		}
	}
	return roots
}
