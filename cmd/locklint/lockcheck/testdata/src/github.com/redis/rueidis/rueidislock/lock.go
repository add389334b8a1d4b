// Package rueidislock has just as much of rueidislock as the tests call. It is loaded, never run.
package rueidislock

import "context"

type Locker interface {
	WithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	TryWithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	ForceWithContext(ctx context.Context, name string) (context.Context, context.CancelFunc, error)
	Close()
}
