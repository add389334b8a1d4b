package lockcheck

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A handle is the value that stands for a held lock: a *lockrt.Lease or lockrt.Leases, a *redislock.Lock, a
// *redsync.Mutex (which exists before it is locked, and is locked again later), and for rueidislock the function that
// releases. This file is all that the data flow knows of these libraries.

// A verb is what a call does with the handle that it is called on.
type verb uint8

const (
	verbOther  verb = iota // it is not called on the handle, or does something that cannot be followed
	verbUse                // asks the lock something
	verbLock               // redsync: locks it
	verbExtend             // makes it last longer
	verbRelease
)

// isHandle reports whether a type is a handle by its name. rueidislock's is a mere function, known by where it comes
// from.
func isHandle(t types.Type) bool { return handleLibrary(t) != notClient }

// handleLibrary is the library that a type of handle belongs to.
func handleLibrary(t types.Type) client {
	if isLease(t) {
		return lockRuntime
	}
	if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
		return notClient
	}
	switch {
	case namedIn(t, redislock) == "Lock":
		return redislock
	case namedIn(t, redsync) == "Mutex":
		return redsync
	}
	return notClient
}

// isLease reports whether a type is *lockrt.Lease or lockrt.Leases.
func isLease(t types.Type) bool {
	name := namedIn(t, lockRuntime)
	_, pointer := types.Unalias(t).(*types.Pointer)
	return name == "Lease" && pointer || name == "Leases" && !pointer
}

// handleOf is the value on which a call is made: the receiver of a method, or the function value that is called. Nil if
// it can be no handle.
func handleOf(c *ssa.CallCommon) ssa.Value {
	if m, ok := methodOf(c); ok {
		if m.recv == nil || !isHandle(m.recv.Type()) {
			return nil
		}
		return m.recv
	}
	if sig, ok := c.Value.Type().Underlying().(*types.Signature); ok && sig.Params().Len() == 0 &&
		sig.Results().Len() == 0 {
		return c.Value
	}
	return nil
}

// verbOf says what a call does with the handle on which it is made.
func verbOf(c *ssa.CallCommon, handle ssa.Value) verb {
	if slices.Contains(c.Args[min(1, len(c.Args)):], handle) {
		return verbOther
	}
	m, ok := methodOf(c)
	if !ok {
		return verbRelease // rueidislock
	}
	switch m.obj.Name() {
	case "Release", "Unlock", "UnlockContext":
		return verbRelease
	case "Lock", "LockContext", "TryLock", "TryLockContext":
		return verbLock
	case "Extend", "ExtendContext", "Refresh":
		return verbExtend
	}
	if clientOfPackage(m.obj.Pkg()) == notClient {
		return verbOther
	}
	return verbUse
}

// isReleaseCall reports whether a call releases some lock that is known by its type.
func isReleaseCall(c *ssa.CallCommon) bool {
	m, ok := methodOf(c)
	return ok && m.recv != nil && isHandle(m.recv.Type()) && verbOf(c, m.recv) == verbRelease
}

// handleName is how messages call what a library hands out.
func (c client) handleName() string {
	if c == lockRuntime {
		return "lease"
	}
	return "lock"
}
