// Package ports has an interface over a mutex of redsync, whose implementation nobody here imports.
package ports

import "context"

// Mutex is what redsync's mutex can.
type Mutex interface {
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context) (bool, error)
}

// Other has the same names and does something else.
type Other interface {
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context)
}
