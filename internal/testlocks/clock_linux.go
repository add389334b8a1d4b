package testlocks

import (
	"syscall"
	"unsafe"
)

// Now is what the clock says that all processes of the machine share, in ns. Nobody sets it.
func Now() int64 {
	const clockMonotonic = 1
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno)
	}
	return ts.Nano()
}
