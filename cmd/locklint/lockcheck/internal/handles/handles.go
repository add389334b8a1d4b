// Package handles knows the values that stand for held locks, and what the methods of the libraries do with them.
package handles

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// A handle is the value that stands for a held lock: a *lockrt.Lease or lockrt.Leases, a *redislock.Lock, a
// *redsync.Mutex (which exists before it is locked, and is locked again later), the same of go-zero, etcd, ZooKeeper and
// Consul, and for rueidislock the function that releases. This file is all that the data flow knows of these libraries.

// A Verb is what a call does with the handle that it is called on.
type Verb uint8

const (
	VerbOther  Verb = iota // it is not called on the handle, or does something that cannot be followed
	VerbUse                // asks the lock something
	VerbLock               // redsync: locks it
	VerbExtend             // makes it last longer
	VerbRelease
)

// Is reports whether a type is a handle by its name. rueidislock's is a mere function, known by where it comes
// from.
func Is(t types.Type) bool { return Library(t) != clients.None }

// Library is the library that a type of handle belongs to.
func Library(t types.Type) clients.Client {
	if IsLease(t) {
		return clients.Runtime
	}
	if _, pointer := types.Unalias(t).(*types.Pointer); !pointer {
		return clients.None
	}
	switch {
	case clients.Named(t, clients.Redislock) == "Lock":
		return clients.Redislock
	case clients.Named(t, clients.Redsync) == "Mutex":
		return clients.Redsync
	case clients.Named(t, clients.GoZero) == "RedisLock":
		return clients.GoZero
	case clients.Named(t, clients.Etcd) == "Mutex":
		return clients.Etcd
	case clients.Named(t, clients.ZooKeeper) == "Lock":
		return clients.ZooKeeper
	case clients.Named(t, clients.Consul) == "Lock":
		return clients.Consul
	}
	return clients.None
}

// IsLease reports whether a type is *lockrt.Lease or lockrt.Leases.
func IsLease(t types.Type) bool {
	name := clients.Named(t, clients.Runtime)
	_, pointer := types.Unalias(t).(*types.Pointer)
	return name == "Lease" && pointer || name == "Leases" && !pointer
}

// Of is the value on which a call is made: the receiver of a method, or the function value that is called. Nil if
// it can be no handle.
func Of(c *ssa.CallCommon) ssa.Value {
	if m, ok := ssax.MethodOf(c); ok {
		if m.Recv == nil || !Is(m.Recv.Type()) {
			return nil
		}
		return m.Recv
	}
	if sig, ok := c.Value.Type().Underlying().(*types.Signature); ok && sig.Params().Len() == 0 &&
		sig.Results().Len() == 0 {
		return c.Value
	}
	return nil
}

// VerbOf says what a call does with the handle on which it is made.
func VerbOf(c *ssa.CallCommon, handle ssa.Value) Verb {
	if slices.Contains(c.Args[min(1, len(c.Args)):], handle) {
		return VerbOther
	}
	m, ok := ssax.MethodOf(c)
	if !ok {
		return VerbRelease // rueidislock
	}
	if verb := VerbByName(m.Obj.Name()); verb != VerbOther {
		return verb
	}
	if clients.OfPackage(m.Obj.Pkg()) == clients.None {
		return VerbOther
	}
	return VerbUse
}

// VerbByName is what a method of a library's lock does, VerbOther for those that only ask.
func VerbByName(name string) Verb {
	if IsReleaseName(name) {
		return VerbRelease
	}
	switch name {
	case "Lock", "LockContext", "TryLock", "TryLockContext", "LockWithData", "Acquire", "AcquireCtx":
		return VerbLock
	case "Extend", "ExtendContext", "Refresh":
		return VerbExtend
	}
	return VerbOther
}

// IsReleaseName reports whether a method of a handle releases, by its name.
func IsReleaseName(name string) bool {
	return name == "Release" || name == "Unlock" || name == "UnLock" || name == "UnlockContext" || name == "ReleaseCtx"
}

// IsTokenName reports whether a method of a handle returns what it takes to release the lock elsewhere, by its name.
func IsTokenName(name string) bool { return name == "Value" || name == "Token" }

// IsReleaseCall reports whether a call releases some lock that is known by its type.
func IsReleaseCall(c *ssa.CallCommon) bool {
	m, ok := ssax.MethodOf(c)
	return ok && m.Recv != nil && Is(m.Recv.Type()) && VerbOf(c, m.Recv) == VerbRelease
}
