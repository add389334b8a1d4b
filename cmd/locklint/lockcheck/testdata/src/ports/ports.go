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
