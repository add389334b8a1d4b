// Package ports has an interface over a mutex of redsync, whose implementation nobody here imports.
package ports

import "context"

// Mutex is what redsync's mutex can.
type Mutex interface {
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context) (bool, error)
}

// Lock is one of the program's own.
type Lock interface {
	Lock(ctx context.Context) error
	UnLock(ctx context.Context) error
}

// Local lives in the process.
type Local interface {
	Lock()
	Unlock()
}

// Other has the same names and does something else.
type Other interface {
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context)
}

// Locker hands out what stands for a lock that is held.
type Locker interface {
	Acquire(ctx context.Context, key string, ttl int) (Unlocker, error)
}

// Unlocker is a lock that is held.
type Unlocker interface {
	Token() string
	Release(ctx context.Context) error
}

// Keyed names its locks.
type Keyed interface {
	TryLock(ctx context.Context, key string) (bool, error)
	Unlock(ctx context.Context, key string) error
}

// Pool hands out something else.
type Pool interface {
	Acquire(ctx context.Context, kind string) (Conn, error)
}

// Conn is given back.
type Conn interface {
	Release(ctx context.Context) error
}
