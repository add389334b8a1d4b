//go:build !plan9

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPatiently_waitsForOpenFilesOnWindows: the answers of Windows are numbers, so that the decision can be tested anywhere.
func TestPatiently_waitsForOpenFilesOnWindows(t *testing.T) {
	renamed := func(code syscall.Errno) error {
		return &os.LinkError{Op: "rename", Old: "a", New: "b", Err: code}
	}
	for _, c := range []struct {
		name  string
		goos  string
		err   error
		fails int // how often before it works
		tries int
		ok    bool
	}{
		{"nothing is wrong", "windows", nil, 0, 1, true},
		{"open for a moment", "windows", renamed(accessDenied), 3, 4, true},
		{"shared", "windows", renamed(sharingViolation), 1, 2, true},
		{"locked", "windows", renamed(lockViolation), 1, 2, true},
		{"open for ever", "windows", renamed(sharingViolation), 1 << 30, 12, false},
		{"another error", "windows", renamed(3), 1, 1, false},
		{"no errno", "windows", fs.ErrPermission, 1, 1, false},
		{"a number means something else here", "linux", renamed(accessDenied), 1, 1, false},
	} {
		tries, waited := 0, time.Duration(0)
		err := patiently(c.goos, func(d time.Duration) { waited += d }, func() error {
			if tries++; tries > c.fails {
				return nil
			}
			return c.err
		})
		if (err == nil) != c.ok || tries != c.tries || waited > 2*patience {
			t.Errorf("%s: %v after %d tries and %s", c.name, err, tries, waited)
		}
	}
}

func TestRemove_ofNothing(t *testing.T) {
	if err := Remove(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "")
	if err := Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder with something in it: %v", err)
	}
}
