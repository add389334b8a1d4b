package gen

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// A folder is what the byte scan keeps of a directory: the files that may hold directives, and lockgen's own output.
type folder struct {
	dir        string            // absolute
	goFiles    []string          // names of all .go files that the go command would look at, sorted
	candidates map[string][]byte // by name
	outputs    map[string][]byte // by name
	leftovers  []string          // paths of what a killed run has left
	blocked    map[string]bool   // names of links and folders: nothing may be written there
	skipped    []string          // paths of Go files that are none to read
	problems   []Problem
}

// paths are those of all Go files, lockgen's own included.
func (f *folder) paths() []string {
	all := make([]string, len(f.goFiles))
	for i, name := range f.goFiles {
		all[i] = filepath.Join(f.dir, name)
	}
	return all
}

// scan reads the folders that patterns name, sorted by path.
func scan(ctx context.Context, cfg Config) ([]*folder, []Problem, error) {
	dirs, problems, err := expand(ctx, cfg)
	if err != nil || len(problems) > 0 {
		return nil, problems, err
	}
	scanned := make([]*folder, len(dirs))
	errs := make([]error, len(dirs))
	each(len(dirs), func(i int) { scanned[i], errs[i] = scanDir(dirs[i], cfg.Out != "") })
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, f := range scanned {
		problems = append(problems, f.problems...)
		for _, path := range f.skipped {
			cfg.Warnf("%s is left out: it is not a regular file of this module, or too large",
				files.Name(relative(cfg.Dir, path)))
		}
	}
	return scanned, problems, nil
}

// idle tells whether a folder has nothing to do with lockgen.
func (f *folder) idle() bool { return len(f.candidates)+len(f.outputs)+len(f.leftovers) == 0 }

// each runs work for 0 to n-1 on all processors and waits for it.
func each(n int, work func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// scanDir reads a folder. Links may lead out of the module where that is how a sandbox shows the sources.
func scanDir(dir string, links bool) (*folder, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &folder{dir: dir, candidates: map[string][]byte{}, outputs: map[string][]byte{}, blocked: map[string]bool{}}
	for _, entry := range entries {
		name := entry.Name()
		if path := filepath.Join(dir, name); files.Leftover(path, tempPrefix, []byte(header)) {
			f.leftovers = append(f.leftovers, path)
		}
		if !strings.HasSuffix(name, ".go") || hidden(name) {
			continue
		}
		f.blocked[name] = !links && !entry.Type().IsRegular()
		switch {
		case entry.IsDir():
			continue
		case f.blocked[name] && outputPattern.MatchString(name):
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
		f.goFiles = append(f.goFiles, name)
		switch {
		case isOutput(name, content) && !f.blocked[name]:
			f.outputs[name] = append([]byte{}, content...) // not nil, also where it is empty
		case mentions(content):
			f.candidates[name] = content
		}
	}
	return f, nil
}

// read returns the content of a file of the folder. A link may not lead out of the module: what it leads to is no
// source of the module, and would end up in a diff.
func (f *folder) read(entry fs.DirEntry, links bool) ([]byte, error) {
	path := filepath.Join(f.dir, entry.Name())
	if links || entry.Type().IsRegular() {
		return files.Read(path)
	}
	return files.ReadBelow(files.ModuleRoot(f.dir), path)
}

func (f *folder) unreadable(name string) {
	path := filepath.Join(f.dir, name)
	if !outputPattern.MatchString(name) {
		f.skipped = append(f.skipped, path)
		return
	}
	f.problems = append(f.problems, notRegular(path))
}

func notRegular(path string) Problem {
	return Problem{File: path, Line: 1, Column: 1, Kind: "foreign",
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

// hidden names are left out by the go command.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }
