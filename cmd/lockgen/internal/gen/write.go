package gen

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
)

// Check prints how the files on disk differ from what they should be, as a unified diff, and reports whether they do.
func Check(w io.Writer, dir string, files []File) (bool, error) {
	stale := false
	for _, f := range files {
		if !f.changed() {
			continue
		}
		stale = true
		name := filepath.ToSlash(relative(dir, f.Path))
		before, after := "a/"+name, "b/"+name
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
// texts are on the disk before the first file is touched: where there is no room or no permission for one of them,
// everything stays as it was. Then each file is replaced in one step, so that a compiler or an editor never sees half
// of one.
func Commit(files []File) (done []File, err error) {
	var all []*pending
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.discard())
		}
	}()
	for _, f := range files {
		if !f.changed() {
			continue
		}
		p, err := stage(f)
		if err != nil {
			return nil, fmt.Errorf("lockgen: write %s: %w; nothing was changed", f.Path, err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.finish(); err != nil {
			return done, fmt.Errorf("lockgen: write %s: %w", p.Path, err)
		}
		done = append(done, p.File)
	}
	return done, nil
}

// A pending file has its new text beside it.
type pending struct {
	File
	temp string // "" if the file is to be removed, or has been replaced
	path string // what to replace: a link stays a link
}

func stage(f File) (*pending, error) {
	p := &pending{File: f, path: f.Path}
	if f.Want == nil {
		return p, nil
	}
	path, mode, err := target(f.Path)
	if err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".lock_gen_*") // the dot hides it from the go command
	if err != nil {
		return nil, err
	}
	p.path, p.temp = path, temp.Name()
	_, err = temp.Write(f.Want)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return nil, errors.Join(err, p.discard())
	}
	return p, nil
}

func (p *pending) finish() error {
	if p.Want == nil {
		if err := os.Remove(p.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	err := os.Rename(p.temp, p.path)
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

// target is the file to replace and the mode to give it. Of a link that is what it points to.
func target(path string) (string, fs.FileMode, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, newFileMode(filepath.Dir(path)), nil
	}
	if err != nil {
		return "", 0, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", 0, err
	}
	return real, info.Mode().Perm(), nil
}

// newFileMode is that of the sources beside it, as far as reading and writing goes: who may read them may read what is
// generated from them.
func newFileMode(dir string) fs.FileMode {
	sources, _ := filepath.Glob(filepath.Join(dir, "*.go")) // sorted
	for _, path := range sources {
		if outputPattern.MatchString(filepath.Base(path)) {
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
func Summary(dir string, files []File, state func(File) string) []FileState {
	var all []FileState
	for _, f := range files {
		all = append(all, FileState{relative(dir, f.Path), state(f)})
	}
	return all
}
