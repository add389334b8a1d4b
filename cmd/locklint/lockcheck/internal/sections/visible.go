package sections

import (
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// How long work takes is mostly not to be seen in its source. What can be seen is constant sleeps and timeouts.

// VisibleWork is the least time that calls may take by their own account, and the call that says so: all constant
// sleeps together, or the longest constant timeout.
func VisibleWork(calls []ssa.CallInstruction) (time.Duration, ssa.CallInstruction) {
	var slept, longest time.Duration
	var sleep, timeout ssa.CallInstruction
	for _, call := range calls {
		fn := call.Common().StaticCallee()
		if _, ok := call.(*ssa.Call); !ok || fn == nil || fn.Object() == nil {
			continue
		}
		switch ssax.CalleeName(fn) {
		case "time.Sleep":
			if d, ok := ssax.ConstDuration(call.Common().Args[0]); ok {
				slept += d
				sleep = call
			}
		case "context.WithTimeout", "context.WithTimeoutCause":
			if d, ok := ssax.ConstDuration(call.Common().Args[1]); ok && d > longest {
				longest, timeout = d, call
			}
		}
	}
	if slept >= longest {
		return slept, sleep
	}
	return longest, timeout
}
