//go:build !plan9

package files

import (
	"errors"
	"syscall"
)

// What Windows answers for a file that another process has open: ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION and
// ERROR_LOCK_VIOLATION. Package os has a name for the first one only.
const (
	accessDenied     = syscall.Errno(5)
	sharingViolation = syscall.Errno(32)
	lockViolation    = syscall.Errno(33)
)

// openElsewhere reads an error of Windows.
func openElsewhere(err error) bool {
	code, ok := errors.AsType[syscall.Errno](err)
	return ok && (code == accessDenied || code == sharingViolation || code == lockViolation)
}
