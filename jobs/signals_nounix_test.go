//go:build !unix

package jobs_test

import "syscall"

// Elsewhere a process cannot be stopped for a while. The test that does so needs a Redis server, which is not there
// either.
const (
	stopSignal     = syscall.SIGINT
	continueSignal = syscall.SIGINT
)
