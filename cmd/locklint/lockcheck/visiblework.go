package lockcheck

import (
	"go/constant"
	"time"

	"golang.org/x/tools/go/ssa"
)

// How long work takes is mostly not to be seen in its source. What can be seen is constant sleeps and timeouts.

// visibleWork is the least time that calls may take by their own account, and the call that says so: all constant
// sleeps together, or the longest constant timeout.
func visibleWork(calls []ssa.CallInstruction) (time.Duration, ssa.CallInstruction) {
	var slept, longest time.Duration
	var sleep, timeout ssa.CallInstruction
	for _, call := range calls {
		fn := call.Common().StaticCallee()
		if _, ok := call.(*ssa.Call); !ok || fn == nil || fn.Object() == nil {
			continue
		}
		switch calleeName(fn) {
		case "time.Sleep":
			if d, ok := constDuration(call.Common().Args[0]); ok {
				slept += d
				sleep = call
			}
		case "context.WithTimeout", "context.WithTimeoutCause":
			if d, ok := constDuration(call.Common().Args[1]); ok && d > longest {
				longest, timeout = d, call
			}
		}
	}
	if slept >= longest {
		return slept, sleep
	}
	return longest, timeout
}

// constDuration is a value that is a constant number.
func constDuration(v ssa.Value) (time.Duration, bool) {
	if v == nil {
		return 0, false
	}
	c, ok := soleValue(v).(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	n, exact := constant.Int64Val(c.Value)
	return time.Duration(n), exact
}
