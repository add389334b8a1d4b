package load

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/parallel"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// A Folder is what the byte scan keeps of a directory: the files that may hold directives, and lockgen's own output.
type Folder struct {
	Dir        string            // absolute
	GoFiles    []string          // names of all .go files that the go command would look at, sorted
	candidates map[string][]byte // by name
	Outputs    map[string][]byte // by name
	Leftovers  []string          // paths of what a killed run has left
	Blocked    map[string]bool   // names of links and folders: nothing may be written there
	Skipped    []string          // paths of Go files that are none to read
	problems   []problem.Problem
}

// Paths are those of all Go files, lockgen's own included.
func (f *Folder) Paths() []string {
	all := make([]string, len(f.GoFiles))
	for i, name := range f.GoFiles {
		all[i] = filepath.Join(f.Dir, name)
	}
	return all
}

// scan reads the folders that patterns name, sorted by path.
func scan(ctx context.Context, cfg Config) ([]*Folder, []problem.Problem, error) {
	dirs, problems, err := expand(ctx, cfg)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	scanned := make([]*Folder, len(dirs))
	errs := make([]error, len(dirs))
	parallel.For(len(dirs), func(i int) { scanned[i], errs[i] = scanDir(dirs[i], cfg.Links) })
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, f := range scanned {
		problems = append(problems, f.problems...)
		for _, path := range f.Skipped {
			cfg.Warnf("%s is left out: it is not a regular file of this module, or too large",
				files.Name(files.Relative(cfg.Dir, path)))
		}
	}
	return scanned, problems, nil
}

// idle tells whether a folder has nothing to do with lockgen.
func (f *Folder) idle() bool { return len(f.candidates)+len(f.Outputs)+len(f.Leftovers) == 0 }

// scanDir reads a folder. Links may lead out of the module where that is how a sandbox shows the sources.
func scanDir(dir string, links bool) (*Folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, candidates: map[string][]byte{}, Outputs: map[string][]byte{}, Blocked: map[string]bool{}}
	for _, entry := range entries {
		name := entry.Name()
		if path := filepath.Join(dir, name); files.Leftover(path, output.TempPrefix, []byte(output.Header)) {
			f.Leftovers = append(f.Leftovers, path)
		}
		if !strings.HasSuffix(name, ".go") || Hidden(name) {
			continue
		}
		f.Blocked[name] = !links && !entry.Type().IsRegular()
		switch {
		case entry.IsDir():
			continue
		case f.Blocked[name] && output.Pattern.MatchString(name):
			f.unreadable(name)
			continue
		}
		content, err := f.read(entry, links)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // a dangling link, or removed since: the go command will say so if it matters
		case errors.Is(err, files.ErrUnreadable):
			f.unreadable(name)
			continue
		case err != nil:
			return nil, err
		}
		f.GoFiles = append(f.GoFiles, name)
		switch {
		case output.Is(name, content) && !f.Blocked[name]:
			f.Outputs[name] = append([]byte{}, content...) // not nil, also where it is empty
		case mentions(content):
			f.candidates[name] = content
		}
	}
	return f, nil
}

// read returns the content of a file of the folder. A link may not lead out of the module: what it leads to is no
// source of the module, and would end up in a diff.
func (f *Folder) read(entry fs.DirEntry, links bool) ([]byte, error) {
	path := filepath.Join(f.Dir, entry.Name())
	if links || entry.Type().IsRegular() {
		return files.Read(path)
	}
	return files.ReadBelow(files.ModuleRoot(f.Dir), path)
}

func (f *Folder) unreadable(name string) {
	path := filepath.Join(f.Dir, name)
	if !output.Pattern.MatchString(name) {
		f.Skipped = append(f.Skipped, path)
		return
	}
	f.problems = append(f.problems, NotRegular(path))
}

// NotRegular is the problem of an output's name that no regular file has.
func NotRegular(path string) problem.Problem {
	return problem.Problem{File: path, Line: 1, Column: 1, Kind: "foreign",
		Message: "this is no regular file of the module, and lockgen writes nothing else: delete it"}
}

// mentions tells whether a file may hold what package directive takes for a directive or for a mistaken one: a comment,
// or a line of a block, that starts with the word lock or with what may stand before it. It says yes to some other text; parsing decides.
func mentions(content []byte) bool {
	for _, tail := range []string{"ock", "OCK"} {
		for from := 0; ; {
			i := bytes.Index(content[from:], []byte(tail))
			if i < 0 {
				break
			}
			i += from
			from = i + len(tail)
			if i > 0 && (content[i-1] == 'l' || content[i-1] == 'L') && startsComment(content[:i-1]) &&
				endsWord(content[from:]) {
				return true
			}
		}
	}
	return false
}

func startsComment(before []byte) bool {
	before = bytes.TrimRight(before, " @+")
	return bytes.HasSuffix(before, []byte("//")) || bytes.HasSuffix(before, []byte("/*")) ||
		bytes.HasSuffix(before, []byte("\n"))
}

func endsWord(after []byte) bool {
	for _, suffix := range []string{"s", "gen", "S", "GEN"} {
		after = bytes.TrimPrefix(after, []byte(suffix))
	}
	return len(after) > 0 && bytes.IndexByte([]byte(" :.=\t"), after[0]) >= 0
}

// Hidden names are left out by the go command.
func Hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }
