package files

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// patience is how long Rename waits for somebody to close the file on Windows, where an open file cannot be replaced:
// indexers and virus scanners hold new files for moments.
const patience = 2 * time.Second

// Rename puts a file in the place of another in one step.
func Rename(from, to string) error {
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if err == nil || runtime.GOOS != "windows" || !errors.Is(err, fs.ErrPermission) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(wait)
	}
}
