package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxSize is the size of the largest file that is read. The largest generated Go files are about half of it.
const MaxSize = 64 << 20

// ErrUnreadable says that a file is none that a tool reads: a pipe, a device, too large, or outside of its folder. A link
// counts as what it leads to.
var ErrUnreadable = errors.New("not a file to read")

// Read returns the content of a regular file. It does not open anything else: reading a pipe or a device may never end.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, named(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrUnreadable, Name(path))
	case info.Size() > MaxSize:
		return nil, tooLarge(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, named(err)
	}
	defer file.Close()
	// The size says little: it is 0 for files of /proc, and others grow.
	text, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		return nil, tooLarge(path)
	}
	return text, named(err)
}

// named is an error of package os with the file's name as it is printed.
func named(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s %s: %w", e.Op, Name(e.Path), e.Err)
	}
	return err
}

func tooLarge(path string) error {
	return fmt.Errorf("%w: %s is larger than %d MiB", ErrUnreadable, Name(path), MaxSize>>20)
}

// ReadBelow is Read for a file that has to lie below a folder, links followed.
func ReadBelow(root, path string) ([]byte, error) {
	if !Below(root, path) {
		return nil, fmt.Errorf("%w: %s leads out of %s", ErrUnreadable, Name(path), Name(root))
	}
	return Read(path)
}

// Below tells whether a path leads to something below a folder, once links are followed. A path that leads nowhere is
// judged by the folder that it stands in.
func Below(root, path string) bool {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return false // a link to what may be made one day
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		real = filepath.Join(dir, filepath.Base(path))
	} else if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}

// ModuleRoot is the folder with the go.mod that a folder belongs to, the folder itself if there is none. A go.work above
// it makes all of its modules one.
func ModuleRoot(dir string) string {
	module := ""
	for at := dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, "go.work")) && os.Getenv("GOWORK") != "off" {
			return at
		}
		if module == "" && exists(filepath.Join(at, "go.mod")) {
			module = at
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if module == "" {
		return dir
	}
	return module
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Vendored tells whether a folder is part of the vendored packages of a module: what is written there is lost.
func Vendored(dir string) bool {
	for at := dir; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if filepath.Base(at) == "vendor" && exists(filepath.Join(filepath.Dir(at), "go.mod")) {
			return true
		}
	}
	return false
}
