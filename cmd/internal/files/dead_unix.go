//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// dead tells whether there is certainly no process of a number.
func dead(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
