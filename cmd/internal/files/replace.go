package files

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// patience is how long Rename and Remove wait for somebody to close the file on Windows, where an open file cannot be
// replaced: indexers and virus scanners hold new files for moments.
const patience = 2 * time.Second

// Rename puts a file in the place of another in one step.
func Rename(from, to string) error {
	return patiently(runtime.GOOS, time.Sleep, func() error { return os.Rename(from, to) })
}

// Remove removes a file that may be gone.
func Remove(path string) error {
	err := patiently(runtime.GOOS, time.Sleep, func() error { return os.Remove(path) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// patiently tries again, at growing intervals, while a file is open elsewhere and that matters.
func patiently(goos string, sleep func(time.Duration), try func() error) error {
	var waited time.Duration
	for wait := time.Millisecond; ; wait *= 2 {
		err := try()
		if err == nil || goos != "windows" || !openElsewhere(err) || waited >= patience {
			return err
		}
		sleep(wait)
		waited += wait
	}
}
