package gen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// Check prints how the files on disk differ from what they should be, as a unified diff, and reports whether they do.
func Check(w io.Writer, dir string, all []File) (bool, error) {
	stale := false
	for _, f := range all {
		if !f.changed() {
			continue
		}
		stale = true
		name := filepath.ToSlash(files.Relative(dir, f.Path))
		before, after := files.Name("a/"+name), files.Name("b/"+name)
		switch {
		case f.Have == nil:
			before = "/dev/null"
		case f.Want == nil:
			after = "/dev/null"
		}
		text := diff.Diff(before, f.Have, after, f.Want)
		if _, err := w.Write(text); err != nil {
			return stale, err
		}
	}
	return stale, nil
}

// Commit writes and removes what differs, and returns those files. It is the only place that changes anything. All new
// texts are on the disk before the first file is changed. If there is no space or no permission for one of them,
// nothing is changed. Then each file is replaced in one step, so that a compiler or an editor never sees half of one.
func Commit(wanted []File) (done []File, err error) {
	var all []*pending
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.discard())
		}
	}()
	for _, f := range wanted {
		if !f.changed() {
			continue
		}
		p, err := stage(f)
		if err != nil {
			return nil, fmt.Errorf("lockgen: write %s: %w; nothing was changed", files.Name(f.Path), err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.finish(); err != nil {
			return done, fmt.Errorf("lockgen: write %s: %w", files.Name(p.Path), err)
		}
		done = append(done, p.File)
	}
	return done, nil
}

// Clean removes what killed runs have left.
func Clean(leftovers []string) error {
	var errs []error
	for _, path := range leftovers {
		errs = append(errs, files.Remove(path))
	}
	return errors.Join(errs...)
}

// A pending file has its new text beside it.
type pending struct {
	File
	temp string // "" if the file is to be removed, or has been replaced
}

func stage(f File) (*pending, error) {
	p := &pending{File: f}
	if f.Want == nil {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return nil, err
	}
	temp, err := files.CreateTemp(filepath.Dir(f.Path), output.TempPrefix)
	if err != nil {
		return nil, err
	}
	p.temp = temp.Name()
	_, err = temp.Write(f.Want)
	if err = errors.Join(err, temp.Chmod(modeFor(f.Path)), temp.Close()); err != nil {
		return nil, errors.Join(err, p.discard())
	}
	return p, nil
}

func (p *pending) finish() error {
	if p.Want == nil {
		return files.Remove(p.Path)
	}
	err := files.Rename(p.temp, p.Path)
	if err == nil {
		p.temp = ""
	}
	return err
}

func (p *pending) discard() error {
	if p.temp == "" {
		return nil
	}
	return os.Remove(p.temp)
}

// modeFor is the mode to give a file: that of the one it replaces. A link is replaced, and what it leads to is left alone.
func modeFor(path string) fs.FileMode {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return info.Mode().Perm()
	}
	return newFileMode(filepath.Dir(path))
}

// newFileMode is that of the sources beside it, as far as reading and writing goes: who may read them may read what is
// generated from them.
func newFileMode(dir string) fs.FileMode {
	sources, _ := filepath.Glob(filepath.Join(dir, "*.go")) // sorted
	for _, path := range sources {
		if output.Pattern.MatchString(filepath.Base(path)) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return info.Mode().Perm()&^0o111 | 0o200
		}
	}
	return 0o644
}

// State says how a file differs from what it should be: ok, missing, stale or orphaned.
func (f File) State() string {
	switch {
	case !f.changed():
		return "ok"
	case f.Have == nil:
		return "missing"
	case f.Want == nil:
		return "orphaned"
	}
	return "stale"
}

// Action says what Commit does about a file: unchanged, wrote or removed.
func (f File) Action() string {
	switch {
	case !f.changed():
		return "unchanged"
	case f.Want == nil:
		return "removed"
	}
	return "wrote"
}

// A FileState is a file in a summary.
type FileState struct {
	File  string `json:"file"`
	State string `json:"state"`
}

// Summary lists files, each with the word that state has for it.
func Summary(dir string, all []File, state func(File) string) []FileState {
	var states []FileState
	for _, f := range all {
		states = append(states, FileState{files.Relative(dir, f.Path), state(f)})
	}
	return states
}
