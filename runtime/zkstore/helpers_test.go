package zkstore_test

import (
	"github.com/lockgen/lockgen/internal/testlocks"
	"github.com/lockgen/lockgen/internal/testsync"
)

const long = testlocks.Long

var (
	acquire    = testlocks.Acquire
	release    = testlocks.Release
	waits      = testlocks.Waits
	waiters    = testlocks.Waiters
	says       = testlocks.Says
	eventually = testsync.Eventually
)
