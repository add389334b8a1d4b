//go:build !unix

package files

import (
	"os"
	"runtime"
)

// dead tells whether there is certainly no process of a number. Only Windows says so.
func dead(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		p.Release()
	}
	return err != nil && runtime.GOOS == "windows"
}
