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
		if !f.Changed() {
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

// Commit writes and removes what differs, and returns those files. It is the only place that changes anything. Each file
// is replaced in one step, so that a compiler or an editor never sees half of one.
func Commit(files []File) ([]File, error) {
	var done []File
	for _, f := range files {
		if !f.Changed() {
			continue
		}
		if err := commit(f); err != nil {
			return done, fmt.Errorf("lockgen: write %s: %w", f.Path, err)
		}
		done = append(done, f)
	}
	return done, nil
}

func commit(f File) error {
	if f.Want == nil {
		if err := os.Remove(f.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	path, mode, err := target(f.Path)
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".lock_gen_*") // the dot hides it from the go command
	if err != nil {
		return err
	}
	_, err = temp.Write(f.Want)
	err = errors.Join(err, temp.Chmod(mode), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// target is the file to replace and the mode to give it. A link stays a link: what it points to is replaced.
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
	case !f.Changed():
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
	case !f.Changed():
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
