package ll3002

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/sometown/logs"
)

// Loggers of other modules end the program, or the function, where their names say so.

func panics(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		logs.Panic(err)
	}
	defer lock.Release(ctx)
	return work()
}

func fatal(ctx context.Context, c *redislock.Client, l *logs.Logger) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		l.Fatalf("obtain: %v", err)
	}
	defer lock.Release(ctx)
	return work()
}

// ownLogger is an interface of the program's own: only its methods' names say what they do.
type ownLogger interface{ Fatal(args ...any) }

func fatalByInterface(ctx context.Context, c *redislock.Client, l ownLogger) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		l.Fatal(err)
	}
	defer lock.Release(ctx)
	return work()
}

// What this module declares is judged by what it does.
func Panic(error) {}

func doesNotPanic(ctx context.Context, c *redislock.Client) error {
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3002: when c.Obtain fails, the code goes on without the lock`
	if err != nil {
		Panic(err)
	}
	defer lock.Release(ctx)
	return work()
}
