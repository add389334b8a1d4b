package built

import (
	"syscall"

	"example.com/app/probe"
)

type size int32

//lock:key=built-3:{h},ttl=30s
func windowsLocked(h syscall.Handle, s size) (syscall.Handle, error) {
	probe.Run(s)
	return h, probe.Err()
}
