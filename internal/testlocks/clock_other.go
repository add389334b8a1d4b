//go:build !linux

package testlocks

import "time"

// Now is what the clock says that all processes of the machine share, in ns. A machine whose clock is set while tests
// run may see leases that overlap.
func Now() int64 { return time.Now().UnixNano() }
